// Time, so that tests can turn the clock. The clock is monotonic and stands still while the guest is paused.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace rdmove::agent {

using std::chrono::milliseconds;

/// Destroying it cancels.
class Timer {
 public:
  virtual ~Timer() = default;
};

class Timers {
 public:
  virtual ~Timers() = default;
  virtual milliseconds now() = 0;
  virtual std::unique_ptr<Timer> after(milliseconds delay, std::function<void()> call) = 0;
};

}  // namespace rdmove::agent
