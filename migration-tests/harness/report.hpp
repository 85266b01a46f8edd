// What came of the scenarios, for machines (JUnit XML), for people (one HTML file that needs nothing beside
// it) and for a page of this project (a table in Markdown). Pure.
#pragma once

#include <string>
#include <vector>

#include "migration-tests/harness/result.hpp"

namespace rdmove::harness {

std::string junitOf(const std::vector<ScenarioResult>& results);
std::string htmlOf(const std::vector<ScenarioResult>& results, const std::string& title);

}  // namespace rdmove::harness
