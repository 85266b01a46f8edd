// AddressEvents by rtnetlink (RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR). Loop thread.
#pragma once

#include <boost/asio/io_context.hpp>

#include "guestagent/agent/address_events.hpp"

namespace rdmove::agent {

class AddressMonitor final : public AddressEvents {
 public:
  explicit AddressMonitor(boost::asio::io_context& io) : io_(io) {}
  std::unique_ptr<Watch> watch(std::function<void()> changed) override;

 private:
  boost::asio::io_context& io_;
};

}  // namespace rdmove::agent
