#include "guestagent/agent/rtnetlink.hpp"

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "guestagent/agent/link_message.hpp"
#include "guestagent/agent/rtnetlink_replay.hpp"
#include "guestagent/agent/rule_replay.hpp"

namespace rdmove::agent {
namespace {

bool stands_on_another(const LinkInfo& link) {
  static constexpr std::array<std::string_view, 8> kinds{"vlan", "macvlan", "macvtap", "ipvlan",
                                                         "bond", "bridge",  "team",    "vrf"};
  const bool pkey_child = link.kind == "ipoib" && link.parent != 0;
  return pkey_child || std::find(kinds.begin(), kinds.end(), link.kind) != kinds.end();
}

}  // namespace

Rtnetlink::Rtnetlink(std::filesystem::path sys) : sys_(std::move(sys)), socket_(NETLINK_ROUTE) {}

std::vector<LinkInfo> Rtnetlink::links() {
  std::vector<LinkInfo> out;
  socket_.dump(RTM_GETLINK, link_message::dump_request(), [&](const nlmsghdr& message) {
    if (auto link = link_message::parse(message)) out.push_back(std::move(*link));
  });
  return out;
}

std::string Rtnetlink::driver_of(const std::string& netdev) const {
  std::error_code none;
  return std::filesystem::read_symlink(sys_ / "class/net" / netdev / "device/driver", none)
      .filename()
      .string();
}

// A VF's standby and the failover master have its MAC too; the one is virtio, the other has no driver.
// Nothing else has its GUID.
std::optional<LinkInfo> Rtnetlink::find(const DeviceIdentity& identity, DeviceKind kind) {
  const bool alone = std::holds_alternative<protocol::PortGuid>(identity);
  std::optional<LinkInfo> without_driver;
  for (auto& link : links()) {
    if (link.identity != identity || stands_on_another(link)) continue;
    const auto driver = driver_of(link.name);
    if (kind == DeviceKind::Vf && !alone && driver.starts_with("virtio")) continue;
    if (!driver.empty()) return link;
    if (kind != DeviceKind::Vf || alone) without_driver = std::move(link);
  }
  return without_driver;
}

std::vector<std::string> Rtnetlink::addresses(int index) {
  std::vector<std::string> out;
  socket_.dump(RTM_GETADDR, header_bytes(ifaddrmsg{}), [&](const nlmsghdr& message) {
    if (auto item = replay::address(message, index)) out.push_back(std::move(item->text));
  });
  return out;
}

Result<CapturedLink> Rtnetlink::capture(const LinkInfo& link) {
  auto out = capture_one(link);
  if (!out) return out;
  for (const auto& child : links()) {
    if (child.parent != link.index || (!child.vlan && !child.ipoib)) continue;
    auto captured = capture(child);
    if (!captured) return captured;
    out->children.push_back(std::move(*captured));
  }
  return out;
}

Result<CapturedLink> Rtnetlink::capture_one(const LinkInfo& link) {
  CapturedLink out;
  out.index = link.index;
  out.netdev = link.name;
  out.identity = link.identity;
  out.mtu = link.mtu;
  out.up = link.up;
  out.vlan = link.vlan;
  out.ipoib = link.ipoib;
  out.altnames = link.altnames;
  const auto keep = [&](auto& items, auto read) {
    return [&items, read, index = link.index](const nlmsghdr& message) {
      if (auto item = read(message, index)) items.push_back(std::move(*item));
    };
  };
  int error = socket_.dump(RTM_GETADDR, header_bytes(ifaddrmsg{}), keep(out.addresses, replay::address));
  for (const unsigned char family : {AF_INET, AF_INET6}) {
    rtmsg route{};
    route.rtm_family = family;
    ndmsg neighbour{};
    neighbour.ndm_family = family;
    if (error == 0) error = socket_.dump(RTM_GETROUTE, header_bytes(route), keep(out.routes, replay::route));
    if (error == 0)
      error = socket_.dump(RTM_GETNEIGH, header_bytes(neighbour), keep(out.neighbours, replay::neighbour));
    if (error == 0) error = capture_rules(family, link.name, out.rules);
  }
  if (error != 0) {
    return protocol::fail(
        protocol::ErrorCode::InternalError,
        fmt::format("cannot read the network state of {}: {}", link.name, std::strerror(error)));
  }
  return out;
}

// A kernel without policy rules has none to lose.
int Rtnetlink::capture_rules(unsigned char family, const std::string& netdev,
                             std::vector<CapturedItem>& out) {
  fib_rule_hdr header{};
  header.family = family;
  const int error = socket_.dump(RTM_GETRULE, header_bytes(header), [&](const nlmsghdr& message) {
    if (auto item = replay::rule(message, netdev)) out.push_back(std::move(*item));
  });
  return error == EOPNOTSUPP || error == EAFNOSUPPORT ? 0 : error;
}

}  // namespace rdmove::agent
