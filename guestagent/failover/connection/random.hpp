// Random numbers for ids, tokens and delays. They keep mistakes apart, not attackers
// (docs/reconnect-protocol.md).
#pragma once

#include <random>

#include "guestagent/failover/connection/clock.hpp"

namespace rdmove::failover::conn {

class SeededRandom : public Random {
 public:
  SeededRandom() {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    engine_.seed(seed);
  }
  std::uint64_t number() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rdmove::failover::conn
