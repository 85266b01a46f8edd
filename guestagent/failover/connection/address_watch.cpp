#include "guestagent/failover/connection/address_watch.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace rdmove::failover::conn {

AddressWatch::AddressWatch()
    : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (fd_ >= 0 && bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

AddressWatch::~AddressWatch() {
  if (fd_ >= 0) close(fd_);
}

bool AddressWatch::address_appeared() const {
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  bool appeared = false;
  for (;;) {
    auto size = recv(fd_, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == ENOBUFS) appeared = true;  // something was lost: look
    if (size <= 0) return appeared;
    const auto* bytes = buffer.data();
    while (size >= static_cast<ssize_t>(sizeof(nlmsghdr))) {
      const auto* header = reinterpret_cast<const nlmsghdr*>(bytes);
      const auto step = static_cast<ssize_t>((header->nlmsg_len + 3U) & ~3U);
      if (header->nlmsg_len < sizeof(nlmsghdr) || step > size) break;
      appeared = appeared || header->nlmsg_type == RTM_NEWADDR;
      bytes += step;
      size -= step;
    }
  }
}

}  // namespace rdmove::failover::conn
