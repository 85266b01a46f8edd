// Rtnetlink's other half: putting back what was captured.
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/route/link.h>
#include <netlink/route/link/vlan.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>

#include "guestagent/agent/link_message.hpp"
#include "guestagent/agent/rtnetlink.hpp"
#include "guestagent/agent/rtnetlink_replay.hpp"
#include "guestagent/agent/rule_replay.hpp"

namespace rdmove::agent {
namespace {

using LinkObject = std::unique_ptr<rtnl_link, decltype(&rtnl_link_put)>;
LinkObject new_link(rtnl_link* link) {
  return {link, &rtnl_link_put};
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
  RestoredLink restored{link.index,     link.name,    link.identity, {},
                        captured.index, link.address, link.broadcast};
  const auto warn = [&](const char* what, int error) {
    if (error != 0)
      out.warnings.push_back(fmt::format("{} of {}: {}", what, restored.netdev, std::strerror(error)));
    return error == 0;
  };
  put_name(link, captured, restored, out);
  put_ipoib(link, captured, out);
  put_priorities(link, captured, out);
  const bool mode_changed = link.ipoib && captured.ipoib && link.ipoib->mode != captured.ipoib->mode;
  if (link.mtu != captured.mtu || mode_changed) {  // a change of the mode sets an MTU of its own
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

// The name also when it is one of the device's own alternative names, as udev gives them: the kernel takes it
// only once it is not.
void Rtnetlink::put_name(const LinkInfo& link, const CapturedLink& captured, RestoredLink& restored,
                         BroughtUp& out) {
  const auto& has = link.altnames;
  const auto warn = [&](const std::string& name, int error) {
    out.warnings.push_back(fmt::format("name {} of {}: {}", name, restored.netdev, std::strerror(error)));
  };
  if (link.name != captured.netdev) {
    // Not every kernel renames an interface that is up.
    if (link.up) change(link.index, [](rtnl_link* to) { rtnl_link_unset_flags(to, IFF_UP); });
    if (std::find(has.begin(), has.end(), captured.netdev) != has.end()) {
      socket_.send(link_message::delete_alternative_name(link.index, captured.netdev));
    }
    const int error =
        change(link.index, [&](rtnl_link* to) { rtnl_link_set_name(to, captured.netdev.c_str()); });
    if (error == 0) restored.netdev = captured.netdev;
    if (error != 0) warn(captured.netdev, error);
  }
  for (const auto& name : captured.altnames) {
    if (name == restored.netdev || std::find(has.begin(), has.end(), name) != has.end()) continue;
    if (const int error = socket_.send(link_message::add_alternative_name(link.index, name)); error != 0) {
      warn(name, error);
    }
  }
}

void Rtnetlink::put_ipoib(const LinkInfo& link, const CapturedLink& captured, BroughtUp& out) {
  if (!link.ipoib || !captured.ipoib) return;
  if (link.ipoib->pkey != captured.ipoib->pkey) {
    out.warnings.push_back(fmt::format("P_Key of {} is 0x{:04x} and was 0x{:04x}", link.name,
                                       link.ipoib->pkey, captured.ipoib->pkey));
  }
  if (link.ipoib->mode == captured.ipoib->mode && link.ipoib->umcast == captured.ipoib->umcast) return;
  if (const int error = socket_.send(link_message::ipoib_settings(link.index, *captured.ipoib)); error != 0) {
    out.warnings.push_back(fmt::format("IPoIB mode of {}: {}", link.name, std::strerror(error)));
  }
}

void Rtnetlink::put_priorities(const LinkInfo& link, const CapturedLink& captured, BroughtUp& out) {
  if (!link.vlan || !captured.vlan) return;
  if (link.vlan->ingress == captured.vlan->ingress && link.vlan->egress == captured.vlan->egress) return;
  const int error = socket_.send(link_message::vlan_priorities(link.index, *captured.vlan));
  if (error != 0) {
    out.warnings.push_back(fmt::format("priorities of VLAN {}: {}", link.name, std::strerror(error)));
  }
}

int Rtnetlink::make_child(int parent, const CapturedLink& child) {
  if (child.ipoib) {
    return socket_.send(link_message::new_ipoib_child(parent, child.netdev, child.ipoib->pkey));
  }
  const auto vlan = new_link(rtnl_link_vlan_alloc());
  rtnl_link_set_name(vlan.get(), child.netdev.c_str());
  rtnl_link_set_link(vlan.get(), parent);
  rtnl_link_vlan_set_id(vlan.get(), child.vlan->id);
  rtnl_link_vlan_set_protocol(vlan.get(), htons(child.vlan->protocol));
  rtnl_link_vlan_set_flags(vlan.get(), child.vlan->flags);
  nl_msg* message = nullptr;
  rtnl_link_build_add_request(vlan.get(), NLM_F_CREATE | NLM_F_EXCL, &message);
  return message == nullptr ? EINVAL : socket_.send(message);
}

void Rtnetlink::bring_up_child(int parent, const CapturedLink& child, BroughtUp& out) {
  // By what it is, not by its name: tools name a P_Key interface differently (ib0.000a, ib0.800a).
  const auto is_it = [&](const LinkInfo& link) {
    if (link.parent != parent) return false;
    if (child.ipoib) return link.ipoib && link.ipoib->pkey == child.ipoib->pkey;
    return link.vlan && link.vlan->id == child.vlan->id && link.vlan->protocol == child.vlan->protocol;
  };
  const auto there = [&]() -> std::optional<LinkInfo> {
    for (auto& link : links()) {
      if (is_it(link)) return link;
    }
    return std::nullopt;
  };
  if (!child.vlan && !child.ipoib) return;
  auto link = there();
  if (!link) {
    const int error = make_child(parent, child);
    link = there();
    if (!link) {
      const auto what = child.ipoib ? fmt::format("P_Key 0x{:04x}", child.ipoib->pkey)
                                    : fmt::format("VLAN {}", child.vlan->id);
      out.warnings.push_back(fmt::format("{} {}: {}", what, child.netdev, std::strerror(error)));
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
  const auto self = std::find_if(links.begin(), links.end(),
                                 [&](const auto& link) { return link.captured_index == captured.index; });
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
    // What was learnt anew meanwhile knows better.
    const bool learnt = replay::is_learnt(neighbour.message);
    const int flags = NLM_F_CREATE | (learnt ? NLM_F_EXCL : NLM_F_REPLACE);
    const int error = socket_.send(message_of(RTM_NEWNEIGH, flags, message));
    if (error != 0 && !learnt) failed.push_back(refused(neighbour, self->netdev, error));
  }
  put_rules(captured, *self, failed);
  for (const auto& child : captured.children) {
    auto of_child = put_routes(links, child);
    failed.insert(failed.end(), of_child.begin(), of_child.end());
  }
  return failed;
}

void Rtnetlink::put_rules(const CapturedLink& captured, const RestoredLink& self,
                          std::vector<std::string>& failed) {
  for (const auto& rule : captured.rules) {
    const auto wanted = replay::rule_for(rule.message, captured.netdev, self.netdev);
    const int error = socket_.send(message_of(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, wanted));
    if (error != 0 && error != EEXIST) failed.push_back(refused(rule, self.netdev, error));
    if (self.netdev == captured.netdev || (error != 0 && error != EEXIST)) continue;
    // The one with the old name would match whatever gets that name next.
    const auto old = replay::rule_for(rule.message, captured.netdev, captured.netdev);
    socket_.send(message_of(RTM_DELRULE, 0, old));
  }
}

}  // namespace rdmove::agent
