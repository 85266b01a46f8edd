#include "migration-tests/harness/phases.hpp"

#include <algorithm>

namespace rdmove::harness {

const std::vector<Phase>& phases() {
  static const std::vector<Phase> all = {
      {"departure", "Preflight", Way::kStraight},      {"departure", "Reserving", Way::kStraight},
      {"arrival", "Staging", Way::kStraight},          {"arrival", "Reserved", Way::kStraight},
      {"departure", "Preparing", Way::kStraight},      {"departure", "Unplugging", Way::kStraight},
      {"departure", "TakingIdentity", Way::kStraight}, {"departure", "AnnouncingRelease", Way::kStraight},
      {"arrival", "Awaiting", Way::kStraight},         {"departure", "Transferring", Way::kStraight},
      {"arrival", "Incoming", Way::kStraight},         {"arrival", "Plugging", Way::kStraight},
      {"departure", "Handover", Way::kStraight},       {"arrival", "RestoringGuest", Way::kStraight},
      {"arrival", "Verifying", Way::kStraight},        {"arrival", "Freeing", Way::kStraight},
      {"departure", "Releasing", Way::kStraight},      {"departure", "Settling", Way::kBack},
      {"departure", "Replugging", Way::kBack},         {"departure", "RestoringGuest", Way::kBack},
      {"departure", "Withdrawing", Way::kBack},        {"arrival", "Unstaging", Way::kBack},
      {"departure", "UnplugStuck", Way::kOther},       {"departure", "Unpreparing", Way::kOther},
      {"departure", "Prepared", Way::kOther},          {"departure", "Recalling", Way::kOther},
      {"departure", "Refusing", Way::kOther},          {"arrival", "Abandoning", Way::kOther},
  };
  return all;
}

const Phase* findPhase(std::string_view text) {
  const auto found = std::find_if(phases().begin(), phases().end(),
                                  [&](const Phase& phase) { return phase.text() == text; });
  return found == phases().end() ? nullptr : &*found;
}

}  // namespace rdmove::harness
