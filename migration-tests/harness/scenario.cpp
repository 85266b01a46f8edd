#include "migration-tests/harness/scenario.hpp"

#include <fmt/format.h>

#include "migration-tests/harness/scenario_words.hpp"

namespace rdmove::harness {
namespace {

std::string what(const Fault& fault) {
  const std::string_view kind = words::wordFor(words::kKinds, fault.kind);
  const std::string_view process = words::wordFor(words::kProcesses, fault.process);
  switch (fault.kind) {
    case FaultKind::kKill:
    case FaultKind::kStop:
    case FaultKind::kRestart:
      if (fault.process == Process::kAgent || fault.process == Process::kCommand)
        return fmt::format("{} the {}", kind, process);
      return fmt::format("{} the {}'s {}", kind, toString(fault.side), process);
    case FaultKind::kNetwork:
      if (fault.how == "slow") return fmt::format("network slow, {} Mbit/s", fault.mbit);
      return fmt::format("network {}{}", fault.how, fault.how == "cut" ? "" : " lost");
    case FaultKind::kJournal:
      return fmt::format("the {}'s journal on a {} disk", toString(fault.side), fault.how);
    case FaultKind::kClock:
      return fmt::format("the {}'s clock jumps {} s", toString(fault.side), fault.clock_step.count());
    case FaultKind::kDeviceVanishes:
    case FaultKind::kHostGone:
      return fmt::format("{} ({})", kind, toString(fault.side));
    default:
      return std::string(kind);
  }
}

}  // namespace

std::string_view toString(Side side) {
  return words::wordFor(words::kSides, side);
}

std::string describe(const Fault& fault) {
  if (fault.at.phase.empty()) return what(fault) + " beforehand";
  return fmt::format("{} at {}", what(fault), fault.at.phase);
}

std::string label(const Fault& fault) {
  std::string text(words::wordFor(words::kKinds, fault.kind));
  if (!fault.how.empty()) return text + " " + fault.how;
  if (fault.kind != FaultKind::kKill && fault.kind != FaultKind::kStop && fault.kind != FaultKind::kRestart)
    return text;
  text += fmt::format(" {}", words::wordFor(words::kProcesses, fault.process));
  const bool of_guest = fault.process == Process::kAgent || fault.process == Process::kCommand;
  return of_guest ? text : fmt::format("{} ({})", text, toString(fault.side));
}

}  // namespace rdmove::harness
