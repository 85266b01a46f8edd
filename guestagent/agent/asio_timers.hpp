// Timers by Boost.Asio's steady timer.
#pragma once

#include <boost/asio/io_context.hpp>

#include "guestagent/agent/timers.hpp"

namespace rdmove::agent {

class AsioTimers final : public Timers {
 public:
  explicit AsioTimers(boost::asio::io_context& io) : io_(io) {}
  milliseconds now() override;
  std::unique_ptr<Timer> after(milliseconds delay, std::function<void()> call) override;

 private:
  boost::asio::io_context& io_;
};

}  // namespace rdmove::agent
