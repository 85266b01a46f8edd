#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "migration-tests/harness/report.hpp"

namespace rdmove::harness {
namespace {

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{:.3f}", std::chrono::duration<double>(time).count());
}

}  // namespace

std::string_view toString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kFailed:
      break;
  }
  return "failed";
}

std::string junitOf(const std::vector<ScenarioResult>& results) {
  pugi::xml_document document;
  auto suite = document.append_child("testsuites").append_child("testsuite");
  std::chrono::milliseconds all{0};
  for (const ScenarioResult& result : results) all += result.took;
  const auto count = [&](Verdict verdict) {
    return std::count_if(results.begin(), results.end(),
                         [&](const auto& each) { return each.verdict == verdict; });
  };
  suite.append_attribute("name") = "failover";
  suite.append_attribute("tests") = static_cast<unsigned>(results.size());
  suite.append_attribute("failures") = static_cast<unsigned>(count(Verdict::kFailed));
  suite.append_attribute("skipped") = static_cast<unsigned>(count(Verdict::kSkipped));
  suite.append_attribute("time") = seconds(all).c_str();
  for (const ScenarioResult& result : results) {
    auto test = suite.append_child("testcase");
    test.append_attribute("classname") = "failover";
    test.append_attribute("name") = result.scenario.name.c_str();
    test.append_attribute("time") = seconds(result.took).c_str();
    if (result.verdict == Verdict::kFailed) {
      auto broken = test.append_child("failure");
      broken.append_attribute("message") = fmt::format("{}", fmt::join(result.broken, "; ")).c_str();
      std::string events;
      for (const Event& event : result.events)
        events += fmt::format("{} {}\n", seconds(event.at), event.text);
      broken.text().set(events.c_str());
    } else if (result.verdict == Verdict::kSkipped) {
      test.append_child("skipped").append_attribute("message") = result.why_skipped.c_str();
    }
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace rdmove::harness
