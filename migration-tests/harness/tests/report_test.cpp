// The reports: readable by a parser, whole, and nothing of what a guest or host says gets out of its place.
#include "migration-tests/harness/report.hpp"

#include <gmock/gmock.h>

#include <pugixml.hpp>
#include <regex>

#include "migration-tests/harness/matrix.hpp"
#include "migration-tests/harness/phases.hpp"

namespace rdmove::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ScenarioResult resultOf(const std::string& name, Verdict verdict) {
  ScenarioResult result;
  result.scenario.name = name;
  result.scenario.about = "what it shows";
  result.verdict = verdict;
  result.took = std::chrono::milliseconds(1500);
  return result;
}

std::vector<ScenarioResult> three() {
  auto passed = resultOf("passes", Verdict::kPassed);
  passed.migration = "vm1-1";
  passed.outcome = "Completed";
  passed.timeline.migration = "vm1-1";
  passed.timeline.spans = {{"hosta departure", "Preflight", 0, 1000, false, ""},
                           {"faults", "kill", 200, 300, false, ""}};
  auto failed = resultOf("fails <b>", Verdict::kFailed);
  failed.broken = {"first & worst", "second"};
  failed.events = {{std::chrono::milliseconds(12), "hosta departure Preflight </pre>"}};
  auto skipped = resultOf("skipped", Verdict::kSkipped);
  skipped.why_skipped = "no clock here";
  return {passed, failed, skipped};
}

TEST(JUnit, has_each_scenario_with_its_reasons) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junitOf(three()).c_str()));
  const auto suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 3);
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
  EXPECT_STREQ(suite.attribute("time").value(), "4.500");
  const auto failed = suite.find_child_by_attribute("testcase", "name", "fails <b>");
  EXPECT_STREQ(failed.child("failure").attribute("message").value(), "first & worst; second");
  EXPECT_THAT(failed.child("failure").text().get(), HasSubstr("0.012 hosta departure Preflight"));
  EXPECT_STREQ(suite.find_child_by_attribute("testcase", "name", "skipped")
                   .child("skipped")
                   .attribute("message")
                   .value(),
               "no clock here");
  EXPECT_FALSE(suite.find_child_by_attribute("testcase", "name", "passes").first_child());
}

TEST(Html, is_one_file_with_the_timelines_in_it) {
  const std::string html = htmlOf(three(), "failover & co");
  EXPECT_THAT(html, HasSubstr("<title>failover &amp; co</title>"));
  EXPECT_THAT(html, HasSubstr("3 scenarios"));
  EXPECT_THAT(html, HasSubstr("data:image/svg+xml,"));
  EXPECT_THAT(html, HasSubstr("no clock here"));
  EXPECT_THAT(html, HasSubstr("first &amp; worst"));
  // Nothing is fetched, and nothing that was said becomes markup.
  EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:|#)")));
  EXPECT_THAT(html, Not(HasSubstr("fails <b>")));
  EXPECT_THAT(html, Not(HasSubstr("Preflight </pre>")));
  // The picture's own quotes would end the attribute.
  const auto from = html.find("data:image/svg+xml,");
  EXPECT_THAT(html.substr(from, html.find('"', from) - from), HasSubstr("%3C/svg%3E"));
}

TEST(Matrix, has_each_victim_at_each_step_of_a_good_and_of_a_cancelled_migration) {
  const auto all = matrixScenarios();
  std::set<std::string> names;
  std::map<std::string, int> at;
  for (const Scenario& scenario : all) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    ++at[scenario.faults.back().at.phase];
    EXPECT_TRUE(scenario.faults.back().at.hold);
  }
  for (const Phase& phase : phases()) {
    if (phase.way == Way::kOther) continue;
    EXPECT_GE(at[phase.text()], 7) << phase.text();
  }
  EXPECT_EQ(at["arrival.Plugging"], 8);
}

TEST(Matrix, a_sample_is_its_seeds_and_has_no_case_twice) {
  const auto names = [](std::uint64_t seed) {
    std::vector<std::string> all;
    for (const Scenario& scenario : sampleOf(matrixScenarios(), 20, seed)) all.push_back(scenario.name);
    return all;
  };
  EXPECT_EQ(names(7), names(7));
  EXPECT_NE(names(7), names(8));
  const auto sample = names(7);
  EXPECT_EQ(std::set<std::string>(sample.begin(), sample.end()).size(), 20U);
  EXPECT_EQ(sampleOf(matrixScenarios(), 100'000, 1).size(), matrixScenarios().size());
}

TEST(Matrix, the_table_says_what_passed_what_failed_and_what_was_not_run) {
  auto passed = resultOf("agent at departure.Preflight", Verdict::kPassed);
  passed.outcome = "RolledBack";
  const std::string table = matrixTable({passed, resultOf("agent at departure.Reserving", Verdict::kFailed)});
  EXPECT_THAT(table, HasSubstr("| departure.Preflight |  |  | RolledBack |  |  |  | – |  |"));
  EXPECT_THAT(table, HasSubstr("| departure.Reserving |  |  | **failed** |  |  |  | – |  |"));
}

TEST(Matrix, a_run_in_pieces_has_one_table) {
  auto first = resultOf("agent at departure.Preflight", Verdict::kPassed);
  first.outcome = "RolledBack";
  auto second = resultOf("agent at departure.Reserving", Verdict::kPassed);
  second.outcome = "Completed";
  const std::string both = mergedTable(matrixTable({first}), matrixTable({second}));
  EXPECT_EQ(both, matrixTable({first, second}));
  EXPECT_EQ(mergedTable("", both), both);
  EXPECT_EQ(mergedTable("something else\n| a |\n", both), both);
}

}  // namespace
}  // namespace rdmove::harness
