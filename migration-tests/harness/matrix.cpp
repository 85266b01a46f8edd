#include "migration-tests/harness/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "migration-tests/harness/phases.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::milliseconds;

/// Longer than the keepalive of the lab's libvirtds and a call to the partner.
constexpr milliseconds kCut{7000};

struct Victim {
  std::string_view name;
  FaultKind kind;
  Process process;
  Side side;
};

constexpr Victim kVictims[] = {
    {"source coordinator", FaultKind::kKill, Process::kDaemon, Side::kSource},
    {"destination coordinator", FaultKind::kKill, Process::kDaemon, Side::kDestination},
    {"agent", FaultKind::kKill, Process::kAgent, Side::kSource},
    {"source libvirtd", FaultKind::kKill, Process::kLibvirtd, Side::kSource},
    {"destination libvirtd", FaultKind::kKill, Process::kLibvirtd, Side::kDestination},
    {"command line", FaultKind::kKill, Process::kCommand, Side::kSource},
    {"destination QEMU", FaultKind::kKill, Process::kQemu, Side::kDestination},
    {"management network", FaultKind::kNetwork, Process::kDaemon, Side::kSource},
};

/// From the resume at the destination on; the departure hears of it a moment later.
const std::set<std::string> kArrived = {"arrival.Plugging", "arrival.RestoringGuest", "arrival.Verifying",
                                        "arrival.Freeing",  "departure.Handover",     "departure.Releasing"};

std::string nameOf(const Victim& victim, const Phase& phase) {
  return fmt::format("{} at {}", victim.name, phase.text());
}

std::vector<std::vector<std::string>> cellsOf(const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    auto& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(cell);
  }
  return rows;
}

bool possible(const Victim& victim, const Phase& phase) {
  if (victim.process != Process::kQemu) return true;
  return kArrived.contains(phase.text()) || phase.text() == "arrival.Incoming";
}

Fault faultOf(const Victim& victim, const Phase& phase) {
  Fault fault;
  fault.kind = victim.kind;
  fault.process = victim.process;
  fault.side = victim.side;
  fault.at = {phase.text(), true};
  if (victim.kind == FaultKind::kNetwork) {
    fault.how = "cut";
    fault.until = {Until::Kind::kTime, kCut, ""};
  }
  return fault;
}

Scenario scenarioOf(const Victim& victim, const Phase& phase) {
  Scenario scenario;
  scenario.name = nameOf(victim, phase);
  scenario.about = fmt::format("{}: the {} {}", phase.text(), victim.name,
                               victim.kind == FaultKind::kNetwork ? "is cut" : "is killed");
  scenario.faults.push_back(faultOf(victim, phase));
  if (phase.way == Way::kBack) {
    // What brings a migration there. The daemon of that step may be the one that is held there, so this is
    // not held.
    Fault cancel;
    cancel.kind = FaultKind::kCancel;
    cancel.at = {"departure.Transferring", false};
    scenario.faults.insert(scenario.faults.begin(), cancel);
    scenario.options = {"--bandwidth", "8"};
  }
  if (victim.process == Process::kQemu && kArrived.contains(phase.text())) scenario.expect.vm_ends = true;
  // libvirt itself resumes a source that has lost sight of its destination (docs/reliability.md); it is
  // paused within a second: as many ticks.
  const bool may_run_twice = victim.kind == FaultKind::kNetwork || victim.process == Process::kLibvirtd;
  if (may_run_twice && (kArrived.contains(phase.text()) || phase.text() == "arrival.Incoming"))
    scenario.expect.doubled_ticks = 50;
  return scenario;
}

}  // namespace

std::vector<Scenario> matrixScenarios() {
  std::vector<Scenario> all;
  for (const Phase& phase : phases()) {
    if (phase.way == Way::kOther) continue;
    for (const Victim& victim : kVictims)
      if (possible(victim, phase)) all.push_back(scenarioOf(victim, phase));
  }
  return all;
}

std::vector<Scenario> sampleOf(std::vector<Scenario> scenarios, std::size_t count, std::uint64_t seed) {
  // Not std::shuffle: which order that makes of a seed is each library's own affair.
  std::mt19937_64 random(seed);
  for (std::size_t i = scenarios.size(); i > 1; --i) std::swap(scenarios[i - 1], scenarios[random() % i]);
  scenarios.resize(std::min(count, scenarios.size()));
  return scenarios;
}

std::string matrixTable(const std::vector<ScenarioResult>& results) {
  std::map<std::string, const ScenarioResult*> by_name;
  for (const ScenarioResult& result : results) by_name[result.scenario.name] = &result;
  std::string out = "| step |";
  std::string rule = "\n| --- |";
  for (const Victim& victim : kVictims) {
    out += fmt::format(" {} |", victim.name);
    rule += " --- |";
  }
  out += rule + "\n";
  for (const Phase& phase : phases()) {
    if (phase.way == Way::kOther) continue;
    out += fmt::format("| {} |", phase.text());
    for (const Victim& victim : kVictims) {
      const auto found = by_name.find(nameOf(victim, phase));
      std::string cell;
      if (!possible(victim, phase)) {
        cell = "–";
      } else if (found != by_name.end()) {
        const ScenarioResult& result = *found->second;
        cell = result.verdict == Verdict::kPassed ? (result.outcome.empty() ? "passed" : result.outcome)
                                                  : "**" + std::string(toString(result.verdict)) + "**";
      }
      out += fmt::format(" {} |", cell);
    }
    out += '\n';
  }
  return out;
}

std::string mergedTable(const std::string& before, const std::string& now) {
  const auto old = cellsOf(before);
  auto rows = cellsOf(now);
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const bool empty = rows[r][c].find_first_not_of(' ') == std::string::npos;
      const bool known = r < old.size() && c < old[r].size() && old[r].size() == rows[r].size();
      line += (empty && known ? old[r][c] : rows[r][c]) + "|";
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace rdmove::harness
