#include "guestagent/agent/link_message.hpp"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>

#include "guestagent/agent/netlink_socket.hpp"

namespace rdmove::agent::link_message {
namespace {

// IFF_LOWER_UP of linux/if.h, which cannot be included beside net/if.h.
constexpr unsigned lower_up = 1U << 16;

Bytes bytes_of(nlattr* attribute) {
  if (attribute == nullptr) return {};
  const auto* data = static_cast<const std::uint8_t*>(nla_data(attribute));
  return {data, data + nla_len(attribute)};
}

std::string text_of(nlattr* attribute) {
  const auto bytes = bytes_of(attribute);
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), 0)};
}

template <class Number>
std::optional<Number> number_of(nlattr* attribute) {
  const auto bytes = bytes_of(attribute);
  Number out{};
  if (bytes.size() != sizeof out) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(&out));
  return out;
}

// The GUID is at the end of an IPoIB address, behind flags, queue pair number and subnet prefix (RFC 4391).
DeviceIdentity identity_of(const Bytes& address) {
  constexpr std::size_t ipoib_bytes = 20;
  if (address.size() == ipoib_bytes) {
    std::array<std::uint8_t, 8> guid{};
    std::copy(address.end() - guid.size(), address.end(), guid.begin());
    return protocol::PortGuid(guid);
  }
  std::array<std::uint8_t, 6> mac{};
  if (address.size() == mac.size()) std::copy(address.begin(), address.end(), mac.begin());
  return MacAddress(mac);
}

std::vector<VlanPriority> priorities_of(nlattr* map) {
  std::vector<VlanPriority> out;
  if (map == nullptr) return out;
  int left = nla_len(map);
  for (auto* at = static_cast<nlattr*>(nla_data(map)); nla_ok(at, left); at = nla_next(at, &left)) {
    if (const auto one = number_of<ifla_vlan_qos_mapping>(at)) out.push_back({one->from, one->to});
  }
  std::sort(out.begin(), out.end());  // the kernel's order is that of its hash table
  return out;
}

std::optional<VlanTag> vlan_of(nlattr* data) {
  std::array<nlattr*, IFLA_VLAN_MAX + 1> parts{};
  if (data == nullptr || nla_parse_nested(parts.data(), IFLA_VLAN_MAX, data, nullptr) < 0)
    return std::nullopt;
  const auto id = number_of<std::uint16_t>(parts[IFLA_VLAN_ID]);
  if (!id) return std::nullopt;
  VlanTag out;
  out.id = *id;
  if (const auto tpid = number_of<std::uint16_t>(parts[IFLA_VLAN_PROTOCOL])) {
    out.protocol = static_cast<std::uint16_t>(*tpid << 8 | *tpid >> 8);  // comes in network order
  }
  if (const auto flags = number_of<ifla_vlan_flags>(parts[IFLA_VLAN_FLAGS])) out.flags = flags->flags;
  out.ingress = priorities_of(parts[IFLA_VLAN_INGRESS_QOS]);
  out.egress = priorities_of(parts[IFLA_VLAN_EGRESS_QOS]);
  return out;
}

std::optional<IpoibSettings> ipoib_of(nlattr* data) {
  std::array<nlattr*, IFLA_IPOIB_MAX + 1> parts{};
  if (data == nullptr || nla_parse_nested(parts.data(), IFLA_IPOIB_MAX, data, nullptr) < 0)
    return std::nullopt;
  return IpoibSettings{number_of<std::uint16_t>(parts[IFLA_IPOIB_PKEY]).value_or(0),
                       number_of<std::uint16_t>(parts[IFLA_IPOIB_MODE]).value_or(0),
                       number_of<std::uint16_t>(parts[IFLA_IPOIB_UMCAST]).value_or(0)};
}

void read_kind(nlattr* info, LinkInfo& out) {
  std::array<nlattr*, IFLA_INFO_MAX + 1> parts{};
  if (info == nullptr || nla_parse_nested(parts.data(), IFLA_INFO_MAX, info, nullptr) < 0) return;
  out.kind = text_of(parts[IFLA_INFO_KIND]);
  if (out.kind == "vlan") out.vlan = vlan_of(parts[IFLA_INFO_DATA]);
  if (out.kind == "ipoib") out.ipoib = ipoib_of(parts[IFLA_INFO_DATA]);
}

void read_altnames(nlattr* list, LinkInfo& out) {
  if (list == nullptr) return;
  int left = nla_len(list);
  for (auto* at = static_cast<nlattr*>(nla_data(list)); nla_ok(at, left); at = nla_next(at, &left)) {
    if (nla_type(at) == IFLA_ALT_IFNAME) out.altnames.push_back(text_of(at));
  }
}

void put_priorities(nl_msg* message, int kind, const std::vector<VlanPriority>& map) {
  if (map.empty()) return;
  auto* list = nla_nest_start(message, kind);
  for (const auto& one : map) {
    const ifla_vlan_qos_mapping mapping{one.from, one.to};
    nla_put(message, IFLA_VLAN_QOS_MAPPING, sizeof mapping, &mapping);
  }
  nla_nest_end(message, list);
}

nl_msg* request(int type, int flags, int index) {
  nl_msg* message = nlmsg_alloc();
  nlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags);
  ifinfomsg header{};
  header.ifi_index = index;
  nlmsg_append(message, &header, sizeof header, NLMSG_ALIGNTO);
  return message;
}

nl_msg* altname_request(int type, int flags, int index, const std::string& name) {
  auto* message = request(type, flags, index);
  auto* list = nla_nest_start(message, IFLA_PROP_LIST | NLA_F_NESTED);
  nla_put_string(message, IFLA_ALT_IFNAME, name.c_str());
  nla_nest_end(message, list);
  return message;
}

}  // namespace

Bytes dump_request() {
  auto out = header_bytes(ifinfomsg{});
  const nlattr head{NLA_HDRLEN + sizeof(std::uint32_t), IFLA_EXT_MASK};
  const std::uint32_t mask = RTEXT_FILTER_SKIP_STATS;
  for (const auto& part : {header_bytes(head), header_bytes(mask)})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::optional<LinkInfo> parse(const nlmsghdr& message) {
  std::array<nlattr*, IFLA_MAX + 1> parts{};
  auto* readable = const_cast<nlmsghdr*>(&message);  // libnl 3.7 reads only, but does not say so
  if (message.nlmsg_type != RTM_NEWLINK ||
      nlmsg_parse(readable, sizeof(ifinfomsg), parts.data(), IFLA_MAX, nullptr) < 0) {
    return std::nullopt;
  }
  const auto* header = static_cast<const ifinfomsg*>(nlmsg_data(&message));
  LinkInfo out;
  out.index = header->ifi_index;
  out.name = text_of(parts[IFLA_IFNAME]);
  out.mtu = number_of<std::uint32_t>(parts[IFLA_MTU]).value_or(0);
  out.up = (header->ifi_flags & IFF_UP) != 0;
  // The carrier itself: IFF_RUNNING follows it only with the kernel's link watch, up to a second later.
  out.carrier = out.up && (header->ifi_flags & lower_up) != 0;
  out.parent = number_of<std::int32_t>(parts[IFLA_LINK]).value_or(0);
  out.address = bytes_of(parts[IFLA_ADDRESS]);
  out.broadcast = bytes_of(parts[IFLA_BROADCAST]);
  out.identity = identity_of(out.address);
  read_kind(parts[IFLA_LINKINFO], out);
  read_altnames(parts[IFLA_PROP_LIST], out);
  return out;
}

nl_msg* vlan_priorities(int index, const VlanTag& tag) {
  auto* message = request(RTM_NEWLINK, 0, index);
  auto* info = nla_nest_start(message, IFLA_LINKINFO);
  nla_put_string(message, IFLA_INFO_KIND, "vlan");
  auto* data = nla_nest_start(message, IFLA_INFO_DATA);
  put_priorities(message, IFLA_VLAN_INGRESS_QOS, tag.ingress);
  put_priorities(message, IFLA_VLAN_EGRESS_QOS, tag.egress);
  nla_nest_end(message, data);
  nla_nest_end(message, info);
  return message;
}

nl_msg* new_ipoib_child(int parent, const std::string& name, std::uint16_t pkey) {
  auto* message = request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
  nla_put_string(message, IFLA_IFNAME, name.c_str());
  nla_put_u32(message, IFLA_LINK, static_cast<std::uint32_t>(parent));
  auto* info = nla_nest_start(message, IFLA_LINKINFO);
  nla_put_string(message, IFLA_INFO_KIND, "ipoib");
  auto* data = nla_nest_start(message, IFLA_INFO_DATA);
  nla_put_u16(message, IFLA_IPOIB_PKEY, pkey);
  nla_nest_end(message, data);
  nla_nest_end(message, info);
  return message;
}

nl_msg* ipoib_settings(int index, const IpoibSettings& settings) {
  auto* message = request(RTM_NEWLINK, 0, index);
  auto* info = nla_nest_start(message, IFLA_LINKINFO);
  nla_put_string(message, IFLA_INFO_KIND, "ipoib");
  auto* data = nla_nest_start(message, IFLA_INFO_DATA);
  nla_put_u16(message, IFLA_IPOIB_MODE, settings.mode);
  nla_put_u16(message, IFLA_IPOIB_UMCAST, settings.umcast);
  nla_nest_end(message, data);
  nla_nest_end(message, info);
  return message;
}

nl_msg* add_alternative_name(int index, const std::string& name) {
  return altname_request(RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND, index, name);
}

nl_msg* delete_alternative_name(int index, const std::string& name) {
  return altname_request(RTM_DELLINKPROP, 0, index, name);
}

}  // namespace rdmove::agent::link_message
