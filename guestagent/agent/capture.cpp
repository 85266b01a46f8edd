#include "guestagent/agent/capture.hpp"

#include <spdlog/spdlog.h>

#include "guestagent/protocol/json_parts.hpp"
#include "guestagent/protocol/json_text.hpp"

namespace rdmove::agent {
namespace {

using nlohmann::json;
using protocol::ErrorCode;
using protocol::FieldReader;
namespace limits = protocol::limits;

// 2 has more keys than 1, all of them optional: an agent that was upgraded while its guest is prepared reads
// what the older one wrote.
constexpr int format = 2;
constexpr int oldest_format = 1;
constexpr std::size_t max_items = 100'000;
constexpr std::size_t max_item_bytes = 64 * 1024;
constexpr std::size_t max_altname_bytes = 127;

std::string to_hex(const Bytes& bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

json items_json(const std::vector<CapturedItem>& items) {
  auto out = json::array();
  for (const auto& item : items) {
    out.push_back({{"text", item.text}, {"message", to_hex(item.message)}});
    if (item.expires) out.back()["expires"] = true;
  }
  return out;
}

json priorities_json(const std::vector<VlanPriority>& map) {
  auto out = json::array();
  for (const auto& one : map) out.push_back({{"from", one.from}, {"to", one.to}});
  return out;
}

json vlan_json(const VlanTag& vlan) {
  return {{"id", vlan.id},
          {"protocol", vlan.protocol},
          {"flags", vlan.flags},
          {"ingress", priorities_json(vlan.ingress)},
          {"egress", priorities_json(vlan.egress)}};
}

json link_json(const CapturedLink& link) {
  json out{{"index", link.index},
           {"netdev", link.netdev},
           {protocol::identity_key(link.identity), to_text(link.identity)},
           {"mtu", link.mtu},
           {"up", link.up},
           {"addresses", items_json(link.addresses)},
           {"routes", items_json(link.routes)},
           {"neighbours", items_json(link.neighbours)},
           {"children", json::array()},
           {"rules", items_json(link.rules)},
           {"altnames", link.altnames}};
  if (link.ipoib) {
    out["ipoib"] = {{"pkey", link.ipoib->pkey}, {"mode", link.ipoib->mode}, {"umcast", link.ipoib->umcast}};
  }
  if (link.vlan) out["vlan"] = vlan_json(*link.vlan);
  for (const auto& child : link.children) out["children"].push_back(link_json(child));
  return out;
}

void read_hex(FieldReader& in, const char* key, Bytes& out) {
  std::string hex;
  in.text(key, hex, max_item_bytes);
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return in.refuse(key, "must be hex");
  }
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
}

void read_item(FieldReader& in, CapturedItem& out) {
  in.text("text", out.text, max_item_bytes);
  read_hex(in, "message", out.message);
  in.optional_boolean("expires", out.expires);
}

void read_priority(FieldReader& in, VlanPriority& out) {
  in.integer("from", out.from);
  in.integer("to", out.to);
}

void read_vlan(FieldReader& in, VlanTag& out) {
  in.integer("id", out.id);
  in.integer("protocol", out.protocol);
  in.integer("flags", out.flags);
  in.optional_list("ingress", out.ingress, max_items, read_priority);  // these two: not in an older agent's file
  in.optional_list("egress", out.egress, max_items, read_priority);
}

void read_ipoib(FieldReader& in, IpoibSettings& out) {
  in.integer("pkey", out.pkey);
  in.integer("mode", out.mode);
  in.integer("umcast", out.umcast);
}

void read_link(FieldReader& in, CapturedLink& out) {
  in.integer("index", out.index);
  in.text("netdev", out.netdev, limits::netdev_bytes);
  in.identity(out.identity);
  in.integer("mtu", out.mtu);
  in.boolean("up", out.up);
  in.list("addresses", out.addresses, max_items, read_item);
  in.list("routes", out.routes, max_items, read_item);
  in.list("neighbours", out.neighbours, max_items, read_item);
  in.optional_object("vlan", out.vlan, read_vlan);
  in.list("children", out.children, max_items, read_link);
  in.optional_list("rules", out.rules, max_items, read_item);  // these three: since format 2
  if (in.has("altnames")) in.texts("altnames", out.altnames, max_items, max_altname_bytes);
  in.optional_object("ipoib", out.ipoib, read_ipoib);
}

json lease_json(const dhcp::Lease& lease) {
  return {{"netdev", lease.netdev},
          {"index", lease.captured_index},
          {"address", lease.address},
          {"client", lease.client},
          {"identifier", to_hex(lease.identifier)},
          {"identity_known", lease.identity == dhcp::Identity::Known}};
}

void read_lease(FieldReader& in, dhcp::Lease& out) {
  bool known = false;
  in.text("netdev", out.netdev, limits::netdev_bytes);
  in.integer("index", out.captured_index);
  in.text("address", out.address, limits::address_bytes);
  in.text("client", out.client, limits::name_bytes);
  read_hex(in, "identifier", out.identifier);
  in.boolean("identity_known", known);
  out.identity = known ? dhcp::Identity::Known : dhcp::Identity::Assumed;
}

json setting_json(const RdmaSetting& setting) {
  return {{"port", setting.port}, {"name", setting.name}, {"value", setting.value}};
}

void read_setting(FieldReader& in, RdmaSetting& out) {
  in.text("port", out.port, limits::name_bytes);
  in.text("name", out.name, limits::name_bytes);
  in.text("value", out.value, limits::name_bytes);
}

template <class T>
json list_of(const std::vector<T>& items, json (*to_json)(const T&)) {
  auto out = json::array();
  for (const auto& item : items) out.push_back(to_json(item));
  return out;
}

void read_device(FieldReader& in, CapturedDevice& out) {
  std::optional<CapturedLink> link;
  std::optional<protocol::DeviceTarget> target;
  in.optional_object("target", target, protocol::read_target);
  in.optional_object("link", link, read_link);
  in.text("rdma", out.rdma, limits::rdma_name_bytes);
  in.list("gids", out.gids, limits::gids, protocol::read_gid);
  if (in.has("managed_by")) in.text("managed_by", out.managed_by, limits::name_bytes);
  in.optional_list("leases", out.leases, max_items, read_lease);
  in.optional_list("settings", out.settings, max_items, read_setting);
  in.optional_object("port", out.port, protocol::read_subnet_port);
  if (!link || !target) return in.refuse("link", "and target must be there");
  out.link = std::move(*link);
  out.target = *target;
}

}  // namespace

std::string to_text(const Capture& capture, const std::string& boot_id) {
  json devices = json::array();
  for (const auto& device : capture.devices) {
    devices.push_back({{"target", protocol::to_json(device.target)},
                       {"link", link_json(device.link)},
                       {"rdma", device.rdma},
                       {"gids", protocol::list_json(device.gids)},
                       {"managed_by", device.managed_by},
                       {"leases", list_of(device.leases, lease_json)},
                       {"settings", list_of(device.settings, setting_json)}});
    if (device.port) devices.back()["port"] = protocol::to_json(*device.port);
  }
  return protocol::dump({{"format", format},
                         {"boot_id", boot_id},
                         {"migration", capture.migration.text()},
                         {"devices", devices}});
}

Result<Capture> parse_capture(std::string_view text, const std::string& boot_id) {
  const auto value = json::parse(text, nullptr, false);
  FieldReader in(value, "captured");
  Capture out;
  int version = 0;
  std::string boot;
  in.integer("format", version, oldest_format, format);
  in.text("boot_id", boot, limits::name_bytes);
  if (boot != boot_id) in.refuse("boot_id", "is of another boot");
  in.migration("migration", out.migration);
  in.list("devices", out.devices, limits::devices, read_device);
  return in.finish(std::move(out));
}

}  // namespace rdmove::agent
