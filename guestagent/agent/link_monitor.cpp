#include "guestagent/agent/link_monitor.hpp"

#include <linux/rtnetlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace rdmove::agent {
namespace {

bool is_real(const LinkInfo& link) {
  const bool function = link.kind.empty() || (link.kind == "ipoib" && link.parent == 0);
  return function && link.identity != DeviceIdentity();
}

}  // namespace

LinkMonitor::LinkMonitor(boost::asio::io_context& io, NetworkState& network, Listener listener)
    : network_(network), listener_(std::move(listener)), socket_(NETLINK_ROUTE), events_(io) {
  nl_socket_add_membership(socket_.get(), RTNLGRP_LINK);
  nl_socket_set_nonblocking(socket_.get());
  events_.assign(::dup(nl_socket_get_fd(socket_.get())));
  for (auto& link : network_.links()) {
    if (is_real(link)) known_.emplace(link.index, std::move(link));
  }
  wait();
}

void LinkMonitor::wait() {
  events_.async_wait(events_.wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    read_events();
    wait();
  });
}

// An event only says that something changed: the truth is read from the kernel after the last of them.
void LinkMonitor::read_events() {
  std::array<char, 16384> ignored{};
  ssize_t size = 0;
  do {
    size = ::recv(events_.native_handle(), ignored.data(), ignored.size(), MSG_DONTWAIT);
  } while (size > 0 || (size < 0 && (errno == ENOBUFS || errno == EINTR)));
  listener_.changed();  // first: a restore may be waiting for it
  compare();
}

void LinkMonitor::compare() {
  std::map<int, LinkInfo> now;
  for (auto& link : network_.links()) {
    if (is_real(link)) now.emplace(link.index, std::move(link));
  }
  for (const auto& [index, link] : known_) {
    if (!now.contains(index)) listener_.removed(link);
  }
  for (const auto& [index, link] : now) {
    if (!known_.contains(index)) listener_.arrived(link);
  }
  known_ = std::move(now);
}

}  // namespace rdmove::agent
