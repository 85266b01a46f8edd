// Scenario files: what is said is what is read; what is wrong is refused with file, line and key.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "migration-tests/harness/phases.hpp"
#include "migration-tests/harness/scenario_words.hpp"

namespace rdmove::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto read = parseScenarios(text, "s.toml");
  return read ? "it was read" : read.error().sentence();
}

std::string withFault(const std::string& fault) {
  return "[scenarios.a]\nabout = \"x\"\n[[scenarios.a.faults]]\n" + fault;
}

TEST(ScenarioFile, everything_that_can_be_said_is_read) {
  const auto read = parseScenarios(R"(
[scenarios.a]
about = "all of it"
vm = "vm7"
peer = "peer2"
options = ["--bandwidth", "8"]
limit_s = 30
[scenarios.a.load]
connections = 8
rate = 5
[[scenarios.a.faults]]
kind = "network"
how = "slow"
mbit = 7
at = "arrival.Plugging"
hold = false
until = "departure.Settling"
[[scenarios.a.faults]]
kind = "stop"
process = "libvirtd"
side = "destination"
for_ms = 250
[scenarios.a.expect]
outcome = ["Completed", "RolledBack"]
runs_on = "source"
vm_ends = true
degraded = true
noted = ["resumed here"]
doubled_ticks = 50
)",
                                   "s.toml");
  ASSERT_TRUE(read) << read.error().sentence();
  ASSERT_EQ(read->size(), 1U);
  const Scenario& a = read->front();
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.about, "all of it");
  EXPECT_EQ(a.vm, "vm7");
  EXPECT_EQ(a.peer, "peer2");
  EXPECT_THAT(a.options, ElementsAre("--bandwidth", "8"));
  EXPECT_EQ(a.limit, std::chrono::seconds(30));
  EXPECT_EQ(a.load.connections, 8);
  EXPECT_EQ(a.load.rate, 5);
  ASSERT_EQ(a.faults.size(), 2U);
  EXPECT_EQ(a.faults[0].kind, FaultKind::kNetwork);
  EXPECT_EQ(a.faults[0].how, "slow");
  EXPECT_EQ(a.faults[0].mbit, 7);
  EXPECT_EQ(a.faults[0].at.phase, "arrival.Plugging");
  EXPECT_FALSE(a.faults[0].at.hold);
  EXPECT_EQ(a.faults[0].until.kind, Until::Kind::kPhase);
  EXPECT_EQ(a.faults[0].until.phase, "departure.Settling");
  EXPECT_EQ(a.faults[1].process, Process::kLibvirtd);
  EXPECT_EQ(a.faults[1].side, Side::kDestination);
  EXPECT_EQ(a.faults[1].until.time, std::chrono::milliseconds(250));
  EXPECT_THAT(a.expect.outcomes, ElementsAre("Completed", "RolledBack"));
  EXPECT_EQ(a.expect.runs_on, Side::kSource);
  EXPECT_TRUE(a.expect.vm_ends);
  EXPECT_TRUE(a.expect.degraded);
  EXPECT_THAT(a.expect.noted, ElementsAre("resumed here"));
  EXPECT_EQ(a.expect.doubled_ticks, 50);
}

TEST(ScenarioFile, what_is_not_said_has_its_defaults) {
  const auto read = parseScenarios(
      withFault("kind = \"kill\"\nprocess = \"agent\"\nat = \"departure.Preparing\"\n"), "s.toml");
  ASSERT_TRUE(read) << read.error().sentence();
  const Scenario& a = read->front();
  EXPECT_EQ(a.vm, "vm1");
  EXPECT_EQ(a.peer, "peer");
  EXPECT_TRUE(a.expect.outcomes.empty());
  EXPECT_FALSE(a.expect.runs_on);
  EXPECT_TRUE(a.faults[0].at.hold);
  EXPECT_EQ(a.faults[0].until.kind, Until::Kind::kAtOnce);
}

TEST(ScenarioFile, an_attach_that_fails_once_ends_with_the_failure) {
  const auto read =
      parseScenarios(withFault("kind = \"attach-fails\"\nat = \"arrival.Plugging\"\n"), "s.toml");
  ASSERT_TRUE(read) << read.error().sentence();
  EXPECT_EQ(read->front().faults[0].until.kind, Until::Kind::kFailure);
  EXPECT_EQ(read->front().faults[0].side, Side::kDestination);
}

TEST(ScenarioFile, an_unknown_key_is_refused_with_file_line_and_key) {
  EXPECT_THAT(refusal("[scenarios.a]\nabout = \"x\"\nabuot = 1\n"),
              HasSubstr("s.toml:3:1: scenarios.a.abuot: there is no such key"));
  EXPECT_THAT(refusal("scenario = 1\n"), HasSubstr("s.toml:1:1: scenario: there is no such key"));
  EXPECT_THAT(refusal("[scenarios.a]\nabout = \"x\"\n[scenarios.a.expect]\noutcomes = []\n"),
              HasSubstr("s.toml:4:1: scenarios.a.expect.outcomes"));
  EXPECT_THAT(refusal("[scenarios.a]\nabout = \"x\"\n[scenarios.a.load]\nrat = 1\n"),
              HasSubstr("s.toml:4:1: scenarios.a.load.rat"));
}

TEST(ScenarioFile, a_key_of_another_kind_of_fault_is_unknown) {
  EXPECT_THAT(refusal(withFault("kind = \"cancel\"\nside = \"source\"\n")),
              HasSubstr("s.toml:5:1: scenarios.a.faults[0].side"));
  EXPECT_THAT(refusal(withFault("kind = \"cancel\"\nfor_ms = 5\n")),
              HasSubstr("faults[0].for_ms: there is no such key"));
  EXPECT_THAT(refusal(withFault("kind = \"network\"\nhow = \"cut\"\nmbit = 5\n")),
              HasSubstr("faults[0].mbit"));
  EXPECT_THAT(refusal(withFault("kind = \"kill\"\nprocess = \"agent\"\nside = \"source\"\n")),
              HasSubstr("faults[0].side"));
}

TEST(ScenarioFile, values_that_mean_nothing_are_refused) {
  EXPECT_THAT(refusal(withFault("kind = \"explode\"\n")),
              HasSubstr("s.toml:4:1: scenarios.a.faults[0].kind: expected one of kill"));
  EXPECT_THAT(refusal(withFault("kind = \"kill\"\nprocess = \"init\"\n")), HasSubstr("faults[0].process"));
  EXPECT_THAT(refusal(withFault("kind = \"kill\"\nprocess = \"daemon\"\n")),
              HasSubstr("faults[0].side: expected one of source, destination, found nothing"));
  EXPECT_THAT(refusal(withFault("kind = \"restart\"\nprocess = \"command\"\n")),
              HasSubstr("faults[0].process"));
  EXPECT_THAT(refusal(withFault("kind = \"network\"\nhow = \"wet\"\n")), HasSubstr("faults[0].how"));
  EXPECT_THAT(refusal(withFault("kind = \"clock\"\nside = \"source\"\n")), HasSubstr("faults[0].step_s"));
  EXPECT_THAT(refusal(withFault("kind = \"cancel\"\nat = \"departure.Flying\"\n")),
              HasSubstr("faults[0].at: expected a phase"));
  EXPECT_THAT(refusal(withFault("kind = \"cancel\"\nhold = true\n")), HasSubstr("faults[0].hold"));
  EXPECT_THAT(refusal(withFault("kind = \"unplug-ignored\"\nfor_ms = 1\nuntil = \"over\"\n")),
              HasSubstr("for_ms or until"));
  EXPECT_THAT(refusal(withFault("kind = \"unplug-ignored\"\nuntil = \"dawn\"\n")),
              HasSubstr("faults[0].until"));
  EXPECT_THAT(refusal("[scenarios.a]\nabout = \"x\"\n[scenarios.a.expect]\noutcome = [\"Fine\"]\n"),
              HasSubstr("expect.outcome"));
  EXPECT_THAT(refusal("[scenarios.a]\nlimit_s = 5\n"), HasSubstr("scenarios.a.about"));
  EXPECT_THAT(refusal("[scenarios.a]\nabout = \"x\"\nlimit_s = 0\n"),
              HasSubstr("s.toml:3:1: scenarios.a.limit_s"));
  EXPECT_THAT(refusal("[scenarios.a]\nabout = \"x\"\nfaults = 3\n"), HasSubstr("a list of tables"));
  EXPECT_THAT(refusal(""), HasSubstr("scenarios"));
  EXPECT_THAT(refusal("[scenarios.a\n"), HasSubstr("s.toml:1:"));
}

TEST(ScenarioFile, one_daemon_is_held_once) {
  const std::string two =
      "kind = \"cancel\"\nat = \"departure.Preparing\"\n[[scenarios.a.faults]]\nkind = \"kill\"\nprocess = "
      "\"agent\"\n"
      "at = \"departure.Unplugging\"\n";
  EXPECT_THAT(refusal(withFault(two)), HasSubstr("one fault that holds at a phase of the departure"));
  EXPECT_TRUE(parseScenarios(withFault(two + "hold = false\n"), "s.toml"));
}

TEST(ScenarioFile, those_of_the_tree_are_right) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RDMOVE_SCENARIOS)) {
    const auto scenarios = readScenarios(entry.path());
    EXPECT_TRUE(scenarios) << scenarios.error().sentence();
    ++read;
  }
  EXPECT_GE(read, 3);
}

TEST(ScenarioFile, the_page_names_every_word) {
  std::ifstream file(RDMOVE_HARNESS_PAGE);
  std::ostringstream page;
  page << file.rdbuf();
  const auto named = [&](std::string_view word) {
    EXPECT_THAT(page.str(), HasSubstr("`" + std::string(word) + "`"));
  };
  for (const auto& [word, kind] : words::kKinds) named(word);
  for (const auto& [word, process] : words::kProcesses) named(word);
  for (const char* key :
       {"about",         "vm",           "peer",          "options",      "limit_s",     "connections",
        "rate",          "at",           "hold",          "for_ms",       "until",       "how",
        "mbit",          "step_s",       "side",          "process",      "outcome",     "runs_on",
        "vm_ends",       "degraded",     "doubled_ticks", "address",      "run",         "rdmove",
        "socket",        "libvirt_uri",  "state_dir",     "start_daemon", "stop_daemon", "start_libvirtd",
        "stop_libvirtd", "libvirtd_pid", "power_off",     "power_on",     "start_agent", "stop_agent"})
    named(key);
}

TEST(Fault, is_told_in_words_and_in_few) {
  Fault fault;
  fault.process = Process::kLibvirtd;
  fault.at.phase = "departure.Preparing";
  EXPECT_EQ(describe(fault), "kill the source's libvirtd at departure.Preparing");
  EXPECT_EQ(label(fault), "kill libvirtd (source)");
  fault.process = Process::kAgent;
  fault.at.phase = "";
  EXPECT_EQ(describe(fault), "kill the agent beforehand");
  EXPECT_EQ(label(fault), "kill agent");
  fault.kind = FaultKind::kNetwork;
  fault.how = "to-source";
  EXPECT_EQ(describe(fault), "network to-source lost beforehand");
  EXPECT_EQ(label(fault), "network to-source");
}

TEST(Phases, are_those_of_the_machines) {
  const std::regex phase("kPhase = \"(\\w+)\"");
  const std::set<std::string> ends = {"Completed", "Refused", "RolledBack", "Withdrawn"};
  for (const std::string role : {"departure", "arrival"}) {
    std::ifstream file(std::string(RDMOVE_MACHINES) + "/" + role + "_states.hpp");
    std::set<std::string> there;
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, phase) && !ends.contains(match[1])) there.insert(match[1]);
    }
    std::set<std::string> ours;
    for (const Phase& each : phases())
      if (each.role == role) ours.emplace(each.name);
    EXPECT_EQ(ours, there) << role;
  }
}

}  // namespace
}  // namespace rdmove::harness
