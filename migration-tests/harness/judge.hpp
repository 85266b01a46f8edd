// The invariants (docs/harness.md) and a scenario's expectation, held against what was seen. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "migration-tests/harness/scenario.hpp"
#include "migration-tests/harness/view.hpp"

namespace rdmove::harness {

/// What was seen on the way.
struct Story {
  bool over = false;                     ///< no migration of the VM is unfinished on either host
  std::string outcome;                   ///< the departure's; "" when there was no migration
  std::string arrival_outcome;           ///< "" when the destination never heard of it
  int command_status = -1;               ///< of `rdmove migrate`
  bool command_killed = false;           ///< by the scenario
  bool degraded = false;                 ///< one of the two said so on the way
  std::vector<std::string> not_reached;  ///< faults that never came to pass
  std::vector<std::string> notes;        ///< of both journals
  std::string trouble;                   ///< the harness could not do its part
};

/// What the guest did on both hosts.
std::vector<long> doubledTicks(const View& view);

/// Broken rules, each in a sentence; none: it passed.
std::vector<std::string> judge(const Scenario& scenario, const View& before, const View& after,
                               const Story& story);

}  // namespace rdmove::harness
