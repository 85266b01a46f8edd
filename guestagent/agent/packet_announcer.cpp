#include "guestagent/agent/packet_announcer.hpp"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstring>

#include "guestagent/agent/announcement.hpp"
#include "guestagent/agent/packet_socket.hpp"

namespace rdmove::agent {
namespace {

void log_failure(const RestoredLink& link, const char* what) {
  spdlog::warn("netdev={} {} was not sent: {}", link.netdev, what, std::strerror(errno));
}

void send_arp(PacketSocket& socket, const RestoredLink& link, const std::array<std::uint8_t, 4>& address) {
  for (const auto operation : {ArpOperation::Request, ArpOperation::Reply}) {
    const auto packet = gratuitous_arp(operation, link.address, address);
    if (!socket.send(link.index, broadcast_of(link), packet)) log_failure(link, "gratuitous ARP");
  }
}

void send_advertisement(PacketSocket& socket, const RestoredLink& link,
                        const std::array<std::uint8_t, 16>& address) {
  const auto packet = neighbour_advertisement(link.address, address);
  if (!socket.send(link.index, all_nodes(broadcast_of(link)), packet)) {
    log_failure(link, "neighbour advertisement");
  }
}

}  // namespace

void PacketAnnouncer::announce(const RestoredLink& link) {
  if (link.addresses.empty() || link.address.empty()) return;
  PacketSocket arp(ETH_P_ARP);
  PacketSocket ipv6(ETHERTYPE_IPV6);
  for (const auto& with_prefix : link.addresses) {
    const auto text = with_prefix.substr(0, with_prefix.find('/'));
    std::array<std::uint8_t, 4> v4{};
    std::array<std::uint8_t, 16> v6{};
    if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) {
      send_arp(arp, link, v4);
    } else if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) {
      send_advertisement(ipv6, link, v6);
    }
  }
}

}  // namespace rdmove::agent
