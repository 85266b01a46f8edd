// Time that only tests move.
#pragma once

#include "guestagent/failover/connection/clock.hpp"

namespace rdmove::failover::conn::fake {

class ManualClock : public Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  void advance(Milliseconds by) { now_ += by; }

 private:
  Time now_{std::chrono::hours(1)};
};

}  // namespace rdmove::failover::conn::fake
