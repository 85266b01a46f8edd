#include "guestagent/agent/address_monitor.hpp"

#include <linux/rtnetlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "guestagent/agent/netlink_socket.hpp"

namespace rdmove::agent {
namespace {

class NetlinkWatch final : public AddressEvents::Watch {
 public:
  NetlinkWatch(boost::asio::io_context& io, std::function<void()> changed)
      : changed_(std::move(changed)), socket_(NETLINK_ROUTE), events_(io) {
    nl_socket_add_memberships(socket_.get(), RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
                              RTNLGRP_IPV6_ROUTE, 0);
    events_.assign(::dup(nl_socket_get_fd(socket_.get())));
    wait();
  }

 private:
  void wait() {
    events_.async_wait(events_.wait_read, [this](const boost::system::error_code& error) {
      if (error) return;
      std::array<char, 16384> ignored{};
      ssize_t size = 0;
      do {
        size = ::recv(events_.native_handle(), ignored.data(), ignored.size(), MSG_DONTWAIT);
      } while (size > 0 || (size < 0 && (errno == ENOBUFS || errno == EINTR)));
      wait();
      const auto changed = changed_;  // may destroy us
      changed();
    });
  }

  std::function<void()> changed_;
  NetlinkSocket socket_;
  boost::asio::posix::stream_descriptor events_;
};

}  // namespace

std::unique_ptr<AddressEvents::Watch> AddressMonitor::watch(std::function<void()> changed) {
  return std::make_unique<NetlinkWatch>(io_, std::move(changed));
}

}  // namespace rdmove::agent
