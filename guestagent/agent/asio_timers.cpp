#include "guestagent/agent/asio_timers.hpp"

#include <boost/asio/steady_timer.hpp>

namespace rdmove::agent {
namespace {

// The handler outlives the Timer, and may be queued already when that is destroyed: it looks whether it still
// may.
class SteadyTimer final : public Timer {
 public:
  SteadyTimer(boost::asio::io_context& io, milliseconds delay, std::function<void()> call)
      : timer_(io, delay), call_(std::make_shared<std::function<void()>>(std::move(call))) {
    timer_.async_wait([weak = std::weak_ptr(call_)](const boost::system::error_code& error) {
      const auto alive = weak.lock();  // keeps the function while it runs, even if it destroys its timer
      if (!error && alive) (*alive)();
    });
  }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<std::function<void()>> call_;
};

}  // namespace

milliseconds AsioTimers::now() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

std::unique_ptr<Timer> AsioTimers::after(milliseconds delay, std::function<void()> call) {
  return std::make_unique<SteadyTimer>(io_, delay, std::move(call));
}

}  // namespace rdmove::agent
