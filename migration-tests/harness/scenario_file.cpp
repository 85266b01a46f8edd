#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "coordinator/service/config_table.hpp"
#include "migration-tests/harness/phases.hpp"
#include "migration-tests/harness/scenario_words.hpp"

namespace rdmove::harness {
namespace {

using config::ConfigError;
using config::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kPage = "docs/harness.md names every key.";
constexpr std::array<std::string_view, 5> kNetworks{"cut", "slow", "to-source", "to-destination", "replies"};
constexpr std::array<std::string_view, 2> kJournals{"full", "read-only"};
constexpr std::array<std::string_view, 4> kOutcomes{"Completed", "RolledBack", "Refused", "Degraded"};

template <std::size_t N>
std::string oneOf(const std::array<std::string_view, N>& words) {
  return fmt::format("one of {}", fmt::join(words, ", "));
}

template <class T, std::size_t N>
T meaning(Table& table, std::string_view key, const words::Table<T, N>& known, std::optional<T> otherwise) {
  std::array<std::string_view, N> names;
  std::transform(known.begin(), known.end(), names.begin(), [](const auto& entry) { return entry.first; });
  const auto said = otherwise && !table.has(key) ? std::nullopt : table.text(key, oneOf(names));
  if (!said) {
    if (otherwise) {
      (void)table.text(key, "");  // a key that may be there
      return *otherwise;
    }
    table.fail(key, oneOf(names), "nothing");
  }
  for (const auto& [word, value] : known)
    if (word == *said) return value;
  table.fail(key, oneOf(names), "\"" + *said + "\"");
}

template <std::size_t N>
std::string word(Table& table, std::string_view key, const std::array<std::string_view, N>& known) {
  std::string said = table.requiredText(key, oneOf(known));
  if (std::find(known.begin(), known.end(), said) == known.end())
    table.fail(key, oneOf(known), "\"" + said + "\"");
  return said;
}

std::string phase(Table& table, std::string_view key, const std::string& said) {
  if (findPhase(said) == nullptr) {
    std::vector<std::string> names;
    for (const Phase& each : phases()) names.push_back(each.text());
    table.fail(key, fmt::format("a phase ({})", fmt::join(names, ", ")), "\"" + said + "\"");
  }
  return said;
}

Moment readMoment(Table& table) {
  Moment at;
  if (const auto said = table.text("at", "a phase, \"departure.Unplugging\""))
    at.phase = phase(table, "at", *said);
  at.hold = table.flag("hold", !at.phase.empty());
  if (at.hold && at.phase.empty()) table.fail("hold", "a phase in `at` with it", "nothing in `at`");
  return at;
}

Until readUntil(Table& table, Until otherwise) {
  const auto time = table.number("for_ms", 1, 600'000, 0);
  const auto said = table.text("until", "a phase, \"degraded\", \"failure\" or \"over\"");
  if (time != 0 && said) table.fail("until", "for_ms or until", "both");
  if (time != 0) return {Until::Kind::kTime, milliseconds(time), ""};
  if (!said) return otherwise;
  if (*said == "degraded") return {Until::Kind::kDegraded, milliseconds(0), ""};
  if (*said == "failure") return {Until::Kind::kFailure, milliseconds(0), ""};
  if (*said == "over") return {Until::Kind::kOver, milliseconds(0), ""};
  return {Until::Kind::kPhase, milliseconds(0), phase(table, "until", *said)};
}

/// A fault has the keys of its kind and no others.
Fault readFault(Table& table) {
  Fault fault;
  fault.kind = meaning(table, "kind", words::kKinds, std::optional<FaultKind>());
  fault.at = readMoment(table);
  const auto side = [&](std::optional<Side> otherwise) {
    return meaning(table, "side", words::kSides, otherwise);
  };
  Until otherwise{Until::Kind::kTime, milliseconds(3000), ""};
  switch (fault.kind) {
    case FaultKind::kKill:
    case FaultKind::kStop:
    case FaultKind::kRestart:
      fault.process = meaning(table, "process", words::kProcesses, std::optional<Process>());
      if (fault.process == Process::kDaemon || fault.process == Process::kLibvirtd ||
          fault.process == Process::kQemu)
        fault.side = side(std::nullopt);
      if (fault.kind == FaultKind::kRestart &&
          (fault.process == Process::kQemu || fault.process == Process::kCommand))
        table.fail("process", "what can be started again: daemon, libvirtd or agent",
                   "\"" + std::string(words::wordFor(words::kProcesses, fault.process)) + "\"");
      if (fault.kind != FaultKind::kStop) otherwise = {};
      break;
    case FaultKind::kNetwork:
      fault.how = word(table, "how", kNetworks);
      if (fault.how == "replies") fault.port = static_cast<int>(table.number("port", 1, 65'535, fault.port));
      if (fault.how == "slow") fault.mbit = static_cast<int>(table.number("mbit", 1, 100'000, fault.mbit));
      break;
    case FaultKind::kJournal:
      fault.how = word(table, "how", kJournals);
      fault.side = side(std::nullopt);
      break;
    case FaultKind::kClock:
      fault.clock_step = seconds(table.number("step_s", -86'400'000, 86'400'000, 0));
      if (fault.clock_step == seconds(0))
        table.fail("step_s", "seconds, forward or (below 0) back", "nothing");
      fault.side = side(std::nullopt);
      break;
    case FaultKind::kDeviceVanishes:
      fault.side = side(std::nullopt);
      otherwise = {};
      break;
    case FaultKind::kHostGone:
      fault.side = side(std::nullopt);
      break;
    case FaultKind::kAttachFails:
      fault.side = Side::kDestination;
      otherwise = {Until::Kind::kFailure, milliseconds(0), ""};
      break;
    case FaultKind::kCancel:
      otherwise = {};
      break;
    case FaultKind::kGarbage:
    case FaultKind::kUnplugIgnored:
      break;
  }
  const bool at_once = fault.kind == FaultKind::kCancel || fault.kind == FaultKind::kDeviceVanishes ||
                       (fault.process == Process::kCommand && fault.kind == FaultKind::kKill);
  fault.until = at_once ? Until{} : readUntil(table, otherwise);
  table.rejectUnknown();
  return fault;
}

Expectation readExpectation(Table& table) {
  Expectation expect;
  if (table.has("outcome")) {
    for (const std::string& outcome : table.requiredTexts("outcome", "a list of outcomes")) {
      if (std::find(kOutcomes.begin(), kOutcomes.end(), outcome) == kOutcomes.end())
        table.fail("outcome", oneOf(kOutcomes), "\"" + outcome + "\"");
      expect.outcomes.push_back(outcome);
    }
  }
  if (table.has("runs_on")) expect.runs_on = meaning(table, "runs_on", words::kSides, std::optional<Side>());
  expect.vm_ends = table.flag("vm_ends", false);
  expect.degraded = table.flag("degraded", false);
  expect.doubled_ticks = static_cast<int>(table.number("doubled_ticks", 0, 100'000, 0));
  if (table.has("noted"))
    expect.noted = table.requiredWords("noted", "a list of texts");
  else
    (void)table.text("noted", "");
  if (!table.has("outcome")) (void)table.text("outcome", "");
  if (!table.has("runs_on")) (void)table.text("runs_on", "");
  table.rejectUnknown();
  return expect;
}

/// A daemon stands still once: whoever asks for two stops of one would wait for ever.
void refuseTwoHolds(const Scenario& scenario, Table& table) {
  for (const std::string_view role : {"departure.", "arrival."}) {
    const auto holds = std::count_if(scenario.faults.begin(), scenario.faults.end(), [&](const Fault& fault) {
      return fault.at.hold && fault.at.phase.starts_with(role);
    });
    if (holds > 1)
      table.fail("faults",
                 fmt::format("one fault that holds at a phase of the {}; say hold = false in the others",
                             role.substr(0, role.size() - 1)),
                 fmt::format("{}", holds));
  }
}

Scenario readScenario(const std::string& name, Table& table) {
  Scenario scenario;
  scenario.name = name;
  scenario.about = table.requiredText("about", "one sentence on what it shows");
  scenario.vm = table.text("vm", "a VM's name", scenario.vm);
  scenario.peer = table.text("peer", "a VM's name", scenario.peer);
  if (table.has("options"))
    scenario.options = table.requiredWords("options", "a list of `rdmove migrate`'s options");
  else
    (void)table.text("options", "");
  if (auto load = table.table("load")) {
    scenario.load.connections =
        static_cast<int>(load->number("connections", 1, 512, scenario.load.connections));
    scenario.load.rate = static_cast<int>(load->number("rate", 1, 1000, scenario.load.rate));
    load->rejectUnknown();
  }
  for (Table& fault : table.list("faults")) scenario.faults.push_back(readFault(fault));
  refuseTwoHolds(scenario, table);
  if (auto expect = table.table("expect")) scenario.expect = readExpectation(*expect);
  scenario.limit = seconds(table.number("limit_s", 1, 3600, scenario.limit.count()));
  table.rejectUnknown();
  return scenario;
}

}  // namespace

Result<std::vector<Scenario>> parseScenarios(const std::string& text, const std::string& file_name) {
  const auto broken = [&](const std::string& cause) {
    return failure(ErrorCode::kBadInput, "read scenarios from " + file_name, cause, std::string(kPage));
  };
  try {
    const toml::table parsed = toml::parse(text, file_name);
    Table root(parsed, "", file_name);
    std::vector<Scenario> scenarios;
    for (auto& [name, table] : root.tables("scenarios")) scenarios.push_back(readScenario(name, table));
    root.rejectUnknown();
    if (scenarios.empty()) root.fail("scenarios", "tables [scenarios.NAME]", "nothing");
    return scenarios;
  } catch (const ConfigError& error) {
    return broken(error.sentence);
  } catch (const toml::parse_error& error) {
    return broken(fmt::format("{}:{}:{}: {}", file_name, error.source().begin.line,
                              error.source().begin.column, error.description()));
  }
}

Result<std::vector<Scenario>> readScenarios(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return failure(ErrorCode::kNotFound, "read scenarios from " + path, "it cannot be read", "");
  return parseScenarios(text.str(), path);
}

}  // namespace rdmove::harness
