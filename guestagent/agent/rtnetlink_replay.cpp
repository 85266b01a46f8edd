#include "guestagent/agent/rtnetlink_replay.hpp"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <functional>

#include "guestagent/agent/netlink_parts.hpp"

namespace rdmove::agent::replay {
namespace {

std::string ip_text(int family, const Bytes& bytes) {
  if (bytes.size() != (family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr))) return "?";
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(family, bytes.data(), text, sizeof text);
  return text;
}

// Calls `visit` for each next hop of a multipath route; it may change it.
void each_next_hop(Bytes& hops, const std::function<void(rtnexthop&)>& visit) {
  for (std::size_t at = 0; at + sizeof(rtnexthop) <= hops.size();) {
    rtnexthop hop{};
    std::memcpy(&hop, hops.data() + at, sizeof hop);
    if (hop.rtnh_len < sizeof hop || at + hop.rtnh_len > hops.size()) return;
    visit(hop);
    std::memcpy(hops.data() + at, &hop, sizeof hop);
    at += RTNH_ALIGN(hop.rtnh_len);
  }
}

bool leads_through(const Parts<rtmsg>& route, int index) {
  if (const auto* hops = route.find(RTA_MULTIPATH)) {
    bool found = false;
    Bytes copy = *hops;
    each_next_hop(copy, [&](rtnexthop& hop) { found |= hop.rtnh_ifindex == index; });
    return found;
  }
  return route.number(RTA_OIF) == static_cast<std::uint32_t>(index);
}

std::string route_text(const Parts<rtmsg>& route) {
  const int family = route.header.rtm_family;
  const auto* to = route.find(RTA_DST);
  const auto* via = route.find(RTA_GATEWAY);
  auto text = to == nullptr
                  ? std::string("default")
                  : fmt::format("{}/{}", ip_text(family, *to), static_cast<int>(route.header.rtm_dst_len));
  if (via != nullptr) text += " via " + ip_text(family, *via);
  return text + fmt::format(" table {}", route.number(RTA_TABLE, route.header.rtm_table));
}

constexpr std::uint32_t forever = 0xffffffff;

bool is_kernel_made(unsigned char protocol) {
  return protocol == RTPROT_KERNEL || protocol == RTPROT_REDIRECT || protocol == RTPROT_RA;
}

}  // namespace

std::optional<CapturedItem> address(const nlmsghdr& message, int index) {
  auto bytes = payload_of(message);
  const Parts<ifaddrmsg> parts(bytes);
  if (message.nlmsg_type != RTM_NEWADDR || parts.header.ifa_index != static_cast<std::uint32_t>(index))
    return std::nullopt;
  const auto* own = parts.find(IFA_LOCAL) != nullptr ? parts.find(IFA_LOCAL) : parts.find(IFA_ADDRESS);
  if (own == nullptr) return std::nullopt;
  const auto text = fmt::format("{}/{}", ip_text(parts.header.ifa_family, *own),
                                static_cast<int>(parts.header.ifa_prefixlen));
  ifa_cacheinfo lifetime{};
  const auto* cache = parts.find(IFA_CACHEINFO);
  if (cache != nullptr && cache->size() >= sizeof lifetime)
    std::memcpy(&lifetime, cache->data(), sizeof lifetime);
  const bool expires = cache != nullptr && lifetime.ifa_valid != forever;
  return CapturedItem{text, std::move(bytes), expires};
}

std::optional<CapturedItem> route(const nlmsghdr& message, int index) {
  auto bytes = payload_of(message);
  const Parts<rtmsg> parts(bytes);
  if (message.nlmsg_type != RTM_NEWROUTE || (parts.header.rtm_flags & RTM_F_CLONED) != 0 ||
      is_kernel_made(parts.header.rtm_protocol) || !leads_through(parts, index)) {
    return std::nullopt;
  }
  return CapturedItem{route_text(parts), std::move(bytes)};
}

// Learnt ones too: without them the first packet to each neighbour waits for an answer to ARP. With a kernel
// in which that answer can come before rdma_resolve_addr listens for it, the call then takes its whole
// time-out.
std::optional<CapturedItem> neighbour(const nlmsghdr& message, int index) {
  constexpr unsigned worth_keeping = NUD_PERMANENT | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;
  auto bytes = payload_of(message);
  const Parts<ndmsg> parts(bytes);
  const auto* to = parts.find(NDA_DST);
  if (message.nlmsg_type != RTM_NEWNEIGH || parts.header.ndm_ifindex != index || to == nullptr ||
      parts.find(NDA_LLADDR) == nullptr || (parts.header.ndm_state & worth_keeping) == 0) {
    return std::nullopt;
  }
  return CapturedItem{ip_text(parts.header.ndm_family, *to), std::move(bytes)};
}

Bytes address_for(const Bytes& message, int index) {
  constexpr std::uint32_t ours_to_set =
      IFA_F_NOPREFIXROUTE | IFA_F_MANAGETEMPADDR | IFA_F_MCAUTOJOIN | IFA_F_HOMEADDRESS;
  Parts<ifaddrmsg> parts(message);
  auto flags = parts.number(IFA_FLAGS, parts.header.ifa_flags) & ours_to_set;
  if (parts.header.ifa_family == AF_INET6) flags |= IFA_F_NODAD;  // usable at once: it was ours a second ago
  parts.header.ifa_flags = static_cast<std::uint8_t>(flags);
  parts.header.ifa_index = static_cast<std::uint32_t>(index);
  parts.drop(IFA_FLAGS);
  parts.add(IFA_FLAGS, flags);
  return parts.bytes();
}

Bytes route_for(const Bytes& message, int old_index, int index) {
  constexpr unsigned settable = RTNH_F_ONLINK | RTNH_F_PERVASIVE;
  Parts<rtmsg> parts(message);
  parts.header.rtm_flags &= settable;
  for (const std::uint16_t read_only : {RTA_CACHEINFO, RTA_NH_ID}) parts.drop(read_only);
  if (parts.number(RTA_OIF) == static_cast<std::uint32_t>(old_index)) {
    parts.set_number(RTA_OIF, static_cast<std::uint32_t>(index));
  }
  for (auto& attribute : parts.attributes) {
    if ((attribute.type & NLA_TYPE_MASK) != RTA_MULTIPATH) continue;
    each_next_hop(attribute.value, [&](rtnexthop& hop) {
      hop.rtnh_flags &= settable;
      if (hop.rtnh_ifindex == old_index) hop.rtnh_ifindex = index;
    });
  }
  return parts.bytes();
}

Bytes neighbour_for(const Bytes& message, int index) {
  Parts<ndmsg> parts(message);
  parts.header.ndm_ifindex = index;
  // Used at once, and asked for again by whoever uses it, since it may have changed.
  if ((parts.header.ndm_state & NUD_PERMANENT) == 0) parts.header.ndm_state = NUD_STALE;
  for (const std::uint16_t read_only : {NDA_CACHEINFO, NDA_PROBES}) parts.drop(read_only);
  return parts.bytes();
}

bool is_learnt(const Bytes& neighbour) {
  return (Parts<ndmsg>(neighbour).header.ndm_state & NUD_PERMANENT) == 0;
}

bool is_multipath(const Bytes& route) {
  return Parts<rtmsg>(route).find(RTA_MULTIPATH) != nullptr;
}

}  // namespace rdmove::agent::replay
