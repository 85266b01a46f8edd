#include "guestagent/agent/rtnetlink.hpp"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/route/link.h>
#include <netlink/route/link/vlan.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "guestagent/agent/rtnetlink_replay.hpp"

namespace rdmove::agent {
namespace {

constexpr unsigned kLowerUp =
    1U << 16;  // IFF_LOWER_UP of linux/if.h, which cannot be included beside net/if.h

using LinkObject = std::unique_ptr<rtnl_link, decltype(&rtnl_link_put)>;
LinkObject new_link(rtnl_link* link) {
  return {link, &rtnl_link_put};
}

LinkInfo info_of(rtnl_link* link) {
  LinkInfo out;
  out.index = rtnl_link_get_ifindex(link);
  out.name = rtnl_link_get_name(link);
  out.mtu = rtnl_link_get_mtu(link);
  out.up = (rtnl_link_get_flags(link) & IFF_UP) != 0;
  // The carrier itself: IFF_RUNNING follows it only with the kernel's link watch, up to a second later.
  out.carrier = out.up && (rtnl_link_get_flags(link) & kLowerUp) != 0;
  if (const char* kind = rtnl_link_get_type(link)) out.kind = kind;
  out.parent = rtnl_link_get_link(link);
  nl_addr* address = rtnl_link_get_addr(link);
  if (address != nullptr && nl_addr_get_len(address) == 6) {
    std::array<std::uint8_t, 6> bytes{};
    std::memcpy(bytes.data(), nl_addr_get_binary_addr(address), bytes.size());
    out.mac = MacAddress(bytes);
  }
  return out;
}

bool stands_on_another(const LinkInfo& link) {
  static constexpr std::array<std::string_view, 8> kinds{"vlan", "macvlan", "macvtap", "ipvlan",
                                                         "bond", "bridge",  "team",    "vrf"};
  return std::find(kinds.begin(), kinds.end(), link.kind) != kinds.end();
}

nl_msg* message_of(int type, int flags, const Bytes& payload) {
  nl_msg* message = nlmsg_alloc_size(NLMSG_HDRLEN + payload.size() + 64);
  nlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags);
  Bytes copy = payload;
  nlmsg_append(message, copy.data(), copy.size(), NLMSG_ALIGNTO);
  return message;
}

std::string refused(const CapturedItem& item, const std::string& netdev, int error) {
  return fmt::format("{} on {}: {}", item.text, netdev, std::strerror(error));
}

}  // namespace

Rtnetlink::Rtnetlink(std::filesystem::path sys) : sys_(std::move(sys)), socket_(NETLINK_ROUTE) {}

std::vector<LinkInfo> Rtnetlink::links() {
  std::vector<LinkInfo> out;
  nl_cache* cache = nullptr;
  if (rtnl_link_alloc_cache(socket_.get(), AF_UNSPEC, &cache) < 0) return out;
  for (nl_object* object = nl_cache_get_first(cache); object != nullptr; object = nl_cache_get_next(object)) {
    out.push_back(info_of(reinterpret_cast<rtnl_link*>(object)));
  }
  nl_cache_free(cache);
  return out;
}

std::string Rtnetlink::driver_of(const std::string& netdev) const {
  std::error_code none;
  return std::filesystem::read_symlink(sys_ / "class/net" / netdev / "device/driver", none)
      .filename()
      .string();
}

// A VF's standby and the failover master have its MAC too; the one is virtio, the other has no driver.
std::optional<LinkInfo> Rtnetlink::find(const MacAddress& mac, DeviceKind kind) {
  std::optional<LinkInfo> without_driver;
  for (auto& link : links()) {
    if (link.mac != mac || stands_on_another(link)) continue;
    const auto driver = driver_of(link.name);
    if (kind == DeviceKind::Vf && driver.starts_with("virtio")) continue;
    if (!driver.empty()) return link;
    if (kind != DeviceKind::Vf) without_driver = std::move(link);
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
    if (child.kind != "vlan" || child.parent != link.index) continue;
    auto captured = capture(child);
    if (!captured) return captured;
    auto object = new_link(nullptr);
    rtnl_link* raw = nullptr;
    if (rtnl_link_get_kernel(socket_.get(), child.index, nullptr, &raw) < 0) continue;
    object.reset(raw);
    captured->vlan = VlanTag{static_cast<std::uint16_t>(rtnl_link_vlan_get_id(raw)),
                             ntohs(static_cast<std::uint16_t>(rtnl_link_vlan_get_protocol(raw))),
                             static_cast<std::uint32_t>(rtnl_link_vlan_get_flags(raw))};
    out->children.push_back(std::move(*captured));
  }
  return out;
}

Result<CapturedLink> Rtnetlink::capture_one(const LinkInfo& link) {
  CapturedLink out;
  out.index = link.index;
  out.netdev = link.name;
  out.mac = link.mac;
  out.mtu = link.mtu;
  out.up = link.up;
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
  }
  if (error != 0) {
    return protocol::fail(
        protocol::ErrorCode::InternalError,
        fmt::format("cannot read the network state of {}: {}", link.name, std::strerror(error)));
  }
  return out;
}

int Rtnetlink::change(int index, const std::function<void(rtnl_link*)>& set) {
  const auto original = new_link(rtnl_link_alloc());
  const auto changes = new_link(rtnl_link_alloc());
  rtnl_link_set_ifindex(original.get(), index);
  set(changes.get());
  nl_msg* message = nullptr;
  if (rtnl_link_build_change_request(original.get(), changes.get(), 0, &message) < 0) return EINVAL;
  return socket_.send(message);
}

NetworkState::BroughtUp Rtnetlink::bring_up(const LinkInfo& link, const CapturedLink& captured) {
  BroughtUp out;
  bring_up_one(link, captured, out);
  return out;
}

void Rtnetlink::bring_up_one(const LinkInfo& link, const CapturedLink& captured, BroughtUp& out) {
  RestoredLink restored{link.index, link.name, link.mac, {}};
  const auto warn = [&](const char* what, int error) {
    if (error != 0)
      out.warnings.push_back(fmt::format("{} of {}: {}", what, restored.netdev, std::strerror(error)));
    return error == 0;
  };
  if (link.name != captured.netdev) {
    // Not every kernel renames an interface that is up.
    if (link.up) change(link.index, [](rtnl_link* to) { rtnl_link_unset_flags(to, IFF_UP); });
    const int error =
        change(link.index, [&](rtnl_link* to) { rtnl_link_set_name(to, captured.netdev.c_str()); });
    if (warn("name", error)) restored.netdev = captured.netdev;
  }
  if (link.mtu != captured.mtu) {
    warn("MTU", change(link.index, [&](rtnl_link* to) { rtnl_link_set_mtu(to, captured.mtu); }));
  }
  // Before the link is up, or IPv6 makes its link-local address itself and waits a second to see it is
  // unique.
  for (const auto& address : captured.addresses) {
    const int error =
        socket_.send(message_of(RTM_NEWADDR, NLM_F_CREATE, replay::address_for(address.message, link.index)));
    if (error != 0 && error != EEXIST) out.lost_addresses.push_back(refused(address, restored.netdev, error));
  }
  if (captured.up) warn("up", change(link.index, [](rtnl_link* to) { rtnl_link_set_flags(to, IFF_UP); }));
  restored.addresses = addresses(link.index);
  out.links.push_back(std::move(restored));
  for (const auto& child : captured.children) bring_up_child(link.index, child, out);
}

void Rtnetlink::bring_up_child(int parent, const CapturedLink& child, BroughtUp& out) {
  const auto there = [&]() -> std::optional<LinkInfo> {
    for (auto& link : links()) {
      if (link.name == child.netdev && link.parent == parent) return link;
    }
    return std::nullopt;
  };
  auto link = there();
  if (!link) {
    const auto vlan = new_link(rtnl_link_vlan_alloc());
    rtnl_link_set_name(vlan.get(), child.netdev.c_str());
    rtnl_link_set_link(vlan.get(), parent);
    rtnl_link_vlan_set_id(vlan.get(), child.vlan->id);
    rtnl_link_vlan_set_protocol(vlan.get(), htons(child.vlan->protocol));
    rtnl_link_vlan_set_flags(vlan.get(), child.vlan->flags);
    nl_msg* message = nullptr;
    rtnl_link_build_add_request(vlan.get(), NLM_F_CREATE | NLM_F_EXCL, &message);
    const int error = message == nullptr ? EINVAL : socket_.send(message);
    link = there();
    if (!link) {
      out.warnings.push_back(
          fmt::format("VLAN {} {}: {}", child.vlan->id, child.netdev, std::strerror(error)));
      return;
    }
  }
  BroughtUp below;
  bring_up_one(*link, child, below);
  out.links.insert(out.links.end(), below.links.begin(), below.links.end());
  out.warnings.insert(out.warnings.end(), below.warnings.begin(), below.warnings.end());
  for (const auto& lost : below.lost_addresses) out.warnings.push_back("not put back: " + lost);
}

std::vector<std::string> Rtnetlink::put_routes(const std::vector<RestoredLink>& links,
                                               const CapturedLink& captured) {
  std::vector<std::string> failed;
  const auto self = std::find_if(links.begin(), links.end(), [&](const auto& link) {
    return link.netdev == captured.netdev ||
           (&link == &links.front() && link.mac == captured.mac && !captured.vlan);
  });
  if (self == links.end()) return failed;

  auto left = captured.routes;
  std::vector<std::string> refusals;
  // In an order that the kernel takes: a route may need another one to reach its gateway.
  for (std::size_t before = left.size() + 1; !left.empty() && left.size() < before;) {
    before = left.size();
    refusals.clear();
    std::erase_if(left, [&](const CapturedItem& route) {
      const int flags =
          replay::is_multipath(route.message) ? NLM_F_CREATE | NLM_F_REPLACE : NLM_F_CREATE | NLM_F_APPEND;
      const auto message = replay::route_for(route.message, captured.index, self->index);
      const int error = socket_.send(message_of(RTM_NEWROUTE, flags, message));
      if (error != 0 && error != EEXIST) refusals.push_back(refused(route, self->netdev, error));
      return error == 0 || error == EEXIST;
    });
  }
  failed = std::move(refusals);
  for (const auto& neighbour : captured.neighbours) {
    const auto message = replay::neighbour_for(neighbour.message, self->index);
    const int error = socket_.send(message_of(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, message));
    if (error != 0) failed.push_back(refused(neighbour, self->netdev, error));
  }
  for (const auto& child : captured.children) {
    auto of_child = put_routes(links, child);
    failed.insert(failed.end(), of_child.begin(), of_child.end());
  }
  return failed;
}

}  // namespace rdmove::agent
