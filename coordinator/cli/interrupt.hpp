// Ctrl-C (and SIGTERM) while a stream is followed: calls back once from a thread of its own, then the signals
// do again what they did before. At most one at a time in the process; made and destroyed on the main thread.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace rdmove::cli {

class Interrupt {
 public:
  explicit Interrupt(std::function<void()> on_signal);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool happened() const { return happened_; }

 private:
  void wait(const std::function<void()>& on_signal);

  std::atomic<bool> happened_{false};
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
  std::thread waiter_;
};

}  // namespace rdmove::cli
