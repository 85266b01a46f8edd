#include "guestagent/agent/packet_announcer.hpp"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "guestagent/agent/announcement.hpp"
#include "guestagent/agent/packet_socket.hpp"

namespace rdmove::agent {
namespace {

class IcmpSocket {
 public:
  IcmpSocket() : fd_(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6)) {}
  ~IcmpSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  IcmpSocket(const IcmpSocket&) = delete;
  IcmpSocket& operator=(const IcmpSocket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

void log_failure(const RestoredLink& link, const char* what) {
  spdlog::warn("netdev={} {} was not sent: {}", link.netdev, what, std::strerror(errno));
}

void send_arp(PacketSocket& socket, const RestoredLink& link, const std::array<std::uint8_t, 4>& address) {
  for (const auto operation : {ArpOperation::Request, ArpOperation::Reply}) {
    const auto packet = gratuitous_arp(operation, link.address, address);
    if (!socket.send(link.index, broadcast_of(link), packet)) log_failure(link, "gratuitous ARP");
  }
}

// To all nodes; from the address itself, hop limit 255 as RFC 4861 wants it.
void send_advertisement(const IcmpSocket& socket, const RestoredLink& link,
                        const std::array<std::uint8_t, 16>& address) {
  auto packet = neighbour_advertisement(link.address, address);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_scope_id = static_cast<std::uint32_t>(link.index);
  inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);

  in6_pktinfo from{};
  std::memcpy(&from.ipi6_addr, address.data(), address.size());
  from.ipi6_ifindex = static_cast<unsigned>(link.index);
  const int hops = 255;
  alignas(cmsghdr) std::uint8_t control[CMSG_SPACE(sizeof from) + CMSG_SPACE(sizeof hops)] = {};
  iovec data{packet.data(), packet.size()};
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
  if (link.addresses.empty() || link.address.empty()) return;
  PacketSocket arp(ETH_P_ARP);
  const IcmpSocket icmp;
  for (const auto& with_prefix : link.addresses) {
    const auto text = with_prefix.substr(0, with_prefix.find('/'));
    std::array<std::uint8_t, 4> v4{};
    std::array<std::uint8_t, 16> v6{};
    if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) {
      send_arp(arp, link, v4);
    } else if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) {
      send_advertisement(icmp, link, v6);
    }
  }
}

}  // namespace rdmove::agent
