// What came of one scenario, for the reports. Plain values.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "coordinator/migration/timeline.hpp"
#include "migration-tests/harness/scenario.hpp"
#include "migration-tests/harness/view.hpp"

namespace rdmove::harness {

struct Event {
  std::chrono::milliseconds at{0};  ///< since the migration was asked for
  std::string text;
};

enum class Verdict { kPassed, kFailed, kSkipped };

struct ScenarioResult {
  Scenario scenario;
  Verdict verdict = Verdict::kFailed;
  std::vector<std::string> broken;  ///< rules, one sentence each
  std::string why_skipped;
  std::string migration;
  std::string from;
  std::string to;
  std::string outcome;
  std::vector<Event> events;
  std::vector<std::string> notes;  ///< what both journals have noted on the way
  Timeline timeline;               ///< with the faults as bars of their own
  std::chrono::microseconds longest_blackout{0};
  std::size_t doubled_ticks = 0;
  std::chrono::milliseconds took{0};
};

std::string_view toString(Verdict verdict);

}  // namespace rdmove::harness
