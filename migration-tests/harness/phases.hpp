// The journaled phases of both machines, by name, as a scenario may say `at` and as the matrix goes through
// them. A unit test holds them against the machines' sources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdmove::harness {

/// What has to happen for a migration to come through a phase.
enum class Way {
  kStraight,  ///< each that goes well
  kBack,      ///< one that is cancelled in its transfer
  kOther      ///< other failures, or another mover (rdmove prepare)
};

struct Phase {
  std::string_view role;  ///< "departure", "arrival"
  std::string_view name;
  Way way;

  [[nodiscard]] std::string text() const { return std::string(role) + "." + std::string(name); }
};

/// Without the ends (Completed, Refused, RolledBack, Withdrawn), in the order in which they come.
const std::vector<Phase>& phases();

/// nullptr: there is none.
const Phase* findPhase(std::string_view text);

}  // namespace rdmove::harness
