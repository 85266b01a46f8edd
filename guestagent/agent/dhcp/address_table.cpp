#include "guestagent/agent/dhcp/address_table.hpp"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include "guestagent/agent/netlink_parts.hpp"
#include "guestagent/agent/rtnetlink_replay.hpp"

namespace rdmove::agent::dhcp {
namespace {

using replay::Parts;

Bytes bytes_of(const Ipv4& address) {
  const auto bytes = address.to_bytes();
  return {bytes.begin(), bytes.end()};
}

void set_lifetime(Parts<ifaddrmsg>& address, std::chrono::seconds lifetime) {
  ifa_cacheinfo cache{};
  cache.ifa_valid = static_cast<std::uint32_t>(lifetime.count());
  cache.ifa_prefered = cache.ifa_valid;
  address.drop(IFA_CACHEINFO);
  address.attributes.push_back({IFA_CACHEINFO, header_bytes(cache)});
}

}  // namespace

std::optional<Bytes> AddressTable::message_of(int index, const std::string& address) {
  std::optional<Bytes> out;
  socket_.dump(RTM_GETADDR, header_bytes(ifaddrmsg{}), [&](const nlmsghdr& message) {
    auto item = replay::address(message, index);
    if (item && item->text == address) out = replay::address_for(item->message, index);
  });
  return out;
}

int AddressTable::send(int type, int flags, const Bytes& payload) {
  nl_msg* message = nlmsg_alloc_size(NLMSG_HDRLEN + payload.size() + 64);
  nlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags);
  Bytes copy = payload;
  nlmsg_append(message, copy.data(), copy.size(), NLMSG_ALIGNTO);
  return socket_.send(message);
}

int AddressTable::extend(int index, const std::string& address, std::chrono::seconds lifetime) {
  const auto message = message_of(index, address);
  if (!message) return EADDRNOTAVAIL;
  Parts<ifaddrmsg> parts(*message);
  set_lifetime(parts, lifetime);
  return send(RTM_NEWADDR, NLM_F_REPLACE, parts.bytes());
}

int AddressTable::replace(int index, const std::string& old, const Reply& lease) {
  const auto message = message_of(index, old);
  if (!message) return EADDRNOTAVAIL;
  Parts<ifaddrmsg> parts(*message);
  if (lease.prefix) parts.header.ifa_prefixlen = static_cast<std::uint8_t>(*lease.prefix);
  for (const std::uint16_t type : {IFA_LOCAL, IFA_ADDRESS, IFA_BROADCAST}) parts.drop(type);
  parts.attributes.push_back({IFA_LOCAL, bytes_of(lease.address)});
  parts.attributes.push_back({IFA_ADDRESS, bytes_of(lease.address)});
  if (parts.header.ifa_prefixlen < 31) {
    const auto hosts = 0xffffffffU >> parts.header.ifa_prefixlen;
    parts.attributes.push_back({IFA_BROADCAST, bytes_of(Ipv4(lease.address.to_uint() | hosts))});
  }
  if (lease.lease) set_lifetime(parts, *lease.lease);
  const auto routes = default_routes(index);
  if (const int error = send(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, parts.bytes()); error != 0)
    return error;
  const int error = send(RTM_DELADDR, 0, *message);
  // In the same subnet the new one was only a secondary of the old one, and went with it.
  send(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, parts.bytes());
  for (const auto& route : routes) follow_router(route, lease.router);
  return error;
}

std::vector<Bytes> AddressTable::default_routes(int index) {
  std::vector<Bytes> out;
  rtmsg header{};
  header.rtm_family = AF_INET;
  socket_.dump(RTM_GETROUTE, header_bytes(header), [&](const nlmsghdr& message) {
    const auto item = replay::route(message, index);
    if (!item || replay::is_multipath(item->message)) return;
    const Parts<rtmsg> parts(item->message);
    if (parts.header.rtm_dst_len == 0 && parts.find(RTA_GATEWAY) != nullptr) {
      out.push_back(replay::route_for(item->message, index, index));
    }
  });
  return out;
}

// With all else that is in the route; a source address in it was the old one. The kernel may have dropped it
// with that address.
void AddressTable::follow_router(const Bytes& route, const std::optional<Ipv4>& router) {
  Parts<rtmsg> parts(route);
  parts.drop(RTA_PREFSRC);
  if (router) {
    parts.drop(RTA_GATEWAY);
    parts.attributes.push_back({RTA_GATEWAY, bytes_of(*router)});
  }
  send(RTM_DELROUTE, 0, route);
  send(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, parts.bytes());
}

}  // namespace rdmove::agent::dhcp
