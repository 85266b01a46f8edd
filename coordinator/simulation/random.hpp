// All chance of a simulation, from its seed: the same on every machine and with every standard library, whose
// distributions may differ. One thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace rdmove::simulation {

using Duration = std::chrono::microseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : next() % limit; }
  bool percent(unsigned chance) { return below(100) < chance; }
  Duration between(Duration least, Duration most) {
    return least + Duration(below(static_cast<std::uint64_t>((most - least).count()) + 1));
  }

 private:
  std::uint64_t state_;
};

}  // namespace rdmove::simulation
