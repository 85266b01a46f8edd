// Watches the guest's network devices by rtnetlink events (RTNLGRP_LINK), and says which real ones came and
// went. One per agent; loop thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>

#include "guestagent/agent/netlink_socket.hpp"
#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

class LinkMonitor {
 public:
  struct Listener {
    std::function<void()> changed;  // after each batch of events
    std::function<void(const LinkInfo&)> arrived;
    std::function<void(const LinkInfo&)> removed;
  };

  LinkMonitor(boost::asio::io_context& io, NetworkState& network, Listener listener);

 private:
  void wait();
  void read_events();
  void compare();  // what is there now with what was: also right after events were lost

  NetworkState& network_;
  Listener listener_;
  NetlinkSocket socket_;
  boost::asio::posix::stream_descriptor events_;
  std::map<int, LinkInfo> known_;
};

}  // namespace rdmove::agent
