// Time and chance as the connection's parts see them, so that tests own both.
#pragma once

#include <chrono>
#include <cstdint>

namespace rdmove::failover::conn {

using Time = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const = 0;
};

class SteadyClock : public Clock {
 public:
  [[nodiscard]] Time now() const override { return std::chrono::steady_clock::now(); }
};

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t number() = 0;  ///< any 64 bits

  /// In [0, limit].
  Milliseconds up_to(Milliseconds limit) {
    return Milliseconds(static_cast<std::int64_t>(number() % static_cast<std::uint64_t>(limit.count() + 1)));
  }
};

}  // namespace rdmove::failover::conn
