#include "coordinator/migration/executors.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace rdmove {
namespace {

class LoopTimer : public Timer {
 public:
  LoopTimer(boost::asio::io_context& loop, std::chrono::milliseconds time, std::function<void()> passed)
      : timer_(loop, time) {
    // A wait that has ended cannot be cancelled any more: whether we are still there is looked at as well.
    timer_.async_wait([passed = std::move(passed),
                       there = std::weak_ptr<int>(there_)](const boost::system::error_code& error) {
      if (!error && !there.expired()) passed();
    });
  }

 private:
  std::shared_ptr<int> there_ = std::make_shared<int>();
  boost::asio::steady_timer timer_;
};

}  // namespace

void PoolWorkers::run(std::function<void()> work) {
  boost::asio::post(pool_, std::move(work));
}

std::unique_ptr<Timer> LoopTimers::after(std::chrono::milliseconds time, std::function<void()> passed) {
  return std::make_unique<LoopTimer>(loop_, time, std::move(passed));
}

}  // namespace rdmove
