// What sessions run on beside the loop: workers for calls that block, and timers. Owned by the daemon; the
// simulation has others, whose time is not the clock's. Timers are of the loop thread; workers are posted to
// from any.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace rdmove {

class Workers {
 public:
  virtual ~Workers() = default;
  /// Runs `work` soon, beside the loop.
  virtual void run(std::function<void()> work) = 0;
};

/// Passes once, and never after it was destroyed.
class Timer {
 public:
  virtual ~Timer() = default;
};

class Timers {
 public:
  virtual ~Timers() = default;
  /// `passed` is called on the loop, never from inside this call, and may destroy the timer.
  virtual std::unique_ptr<Timer> after(std::chrono::milliseconds time, std::function<void()> passed) = 0;
};

class PoolWorkers : public Workers {
 public:
  explicit PoolWorkers(boost::asio::thread_pool& pool) : pool_(pool) {}
  void run(std::function<void()> work) override;

 private:
  boost::asio::thread_pool& pool_;
};

class LoopTimers : public Timers {
 public:
  explicit LoopTimers(boost::asio::io_context& loop) : loop_(loop) {}
  std::unique_ptr<Timer> after(std::chrono::milliseconds time, std::function<void()> passed) override;

 private:
  boost::asio::io_context& loop_;
};

}  // namespace rdmove
