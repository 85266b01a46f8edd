#include "guestagent/agent/packet_announcer.hpp"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netpacket/packet.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace rdmove::agent {
namespace {

class Socket {
 public:
  Socket(int family, int type, int protocol)
      : fd_(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

void log_failure(const RestoredLink& link, const char* what) {
  spdlog::warn("netdev={} {} was not sent: {}", link.netdev, what, std::strerror(errno));
}

void send_arp(const Socket& socket, const RestoredLink& link, const in_addr& address,
              std::uint16_t operation) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_ARP);
  to.sll_ifindex = link.index;
  to.sll_halen = ETH_ALEN;
  std::memset(to.sll_addr, 0xff, ETH_ALEN);

  ether_arp arp{};
  arp.ea_hdr.ar_hrd = htons(ARPHRD_ETHER);
  arp.ea_hdr.ar_pro = htons(ETH_P_IP);
  arp.ea_hdr.ar_hln = ETH_ALEN;
  arp.ea_hdr.ar_pln = sizeof address;
  arp.ea_hdr.ar_op = htons(operation);
  std::memcpy(arp.arp_sha, link.address.data(), ETH_ALEN);
  std::memcpy(arp.arp_spa, &address, sizeof address);
  std::memcpy(arp.arp_tpa, &address, sizeof address);
  if (operation == ARPOP_REPLY) std::memcpy(arp.arp_tha, link.address.data(), ETH_ALEN);
  if (::sendto(socket.fd(), &arp, sizeof arp, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0) {
    log_failure(link, "gratuitous ARP");
  }
}

// To all nodes, with the override flag and our MAC; from the address itself, hop limit 255 as RFC 4861 wants
// it.
void send_advertisement(const Socket& socket, const RestoredLink& link, const in6_addr& address) {
  struct {
    nd_neighbor_advert advertisement{};
    nd_opt_hdr option{ND_OPT_TARGET_LINKADDR, 1};
    std::uint8_t mac[ETH_ALEN]{};
  } packet;
  packet.advertisement.nd_na_type = ND_NEIGHBOR_ADVERT;
  packet.advertisement.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
  packet.advertisement.nd_na_target = address;
  std::memcpy(packet.mac, link.address.data(), ETH_ALEN);

  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_scope_id = static_cast<std::uint32_t>(link.index);
  inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);

  in6_pktinfo from{address, static_cast<unsigned>(link.index)};
  const int hops = 255;
  alignas(cmsghdr) std::uint8_t control[CMSG_SPACE(sizeof from) + CMSG_SPACE(sizeof hops)] = {};
  iovec data{&packet, sizeof packet};
  msghdr message{};
  message.msg_name = &to;
  message.msg_namelen = sizeof to;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = IPPROTO_IPV6;
  part->cmsg_type = IPV6_PKTINFO;
  part->cmsg_len = CMSG_LEN(sizeof from);
  std::memcpy(CMSG_DATA(part), &from, sizeof from);
  part = CMSG_NXTHDR(&message, part);
  part->cmsg_level = IPPROTO_IPV6;
  part->cmsg_type = IPV6_HOPLIMIT;
  part->cmsg_len = CMSG_LEN(sizeof hops);
  std::memcpy(CMSG_DATA(part), &hops, sizeof hops);
  if (::sendmsg(socket.fd(), &message, 0) < 0) log_failure(link, "neighbour advertisement");
}

}  // namespace

void PacketAnnouncer::announce(const RestoredLink& link) {
  if (link.addresses.empty()) return;
  const Socket arp(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ARP));
  const Socket icmp(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
  for (const auto& with_prefix : link.addresses) {
    const auto text = with_prefix.substr(0, with_prefix.find('/'));
    in_addr v4{};
    in6_addr v6{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
      send_arp(arp, link, v4, ARPOP_REQUEST);
      send_arp(arp, link, v4, ARPOP_REPLY);
    } else if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
      send_advertisement(icmp, link, v6);
    }
  }
}

}  // namespace rdmove::agent
