// GidEvents by libibverbs: IBV_EVENT_GID_CHANGE on the asynchronous descriptor of an opened device.
#pragma once

#include <boost/asio/io_context.hpp>

#include "guestagent/agent/gid_events.hpp"

namespace rdmove::agent {

class VerbsGidEvents final : public GidEvents {
 public:
  explicit VerbsGidEvents(boost::asio::io_context& io) : io_(io) {}
  std::unique_ptr<Watch> watch(const std::string& rdma, std::function<void()> changed) override;

 private:
  boost::asio::io_context& io_;
};

}  // namespace rdmove::agent
