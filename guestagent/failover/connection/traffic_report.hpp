// What the loop can tell of its connections at a glance; for whoever reports it (the agent, a status page).
#pragma once

#include <chrono>
#include <cstdint>

namespace rdmove::failover::conn {

struct TrafficReport {
  std::uint32_t connections = 0;
  std::uint32_t up = 0;
  // Since the loop began; what has ended counts on.
  std::uint64_t failovers = 0;  ///< times that a connection came back
  std::uint64_t resent = 0;     ///< as the owners have told by ConnectionCore::count_resent()
  /// Of the last one of each that is still there; if none of those was ever away, of those that have ended.
  std::chrono::milliseconds longest_blackout{0};
  bool operator==(const TrafficReport&) const = default;
};

}  // namespace rdmove::failover::conn
