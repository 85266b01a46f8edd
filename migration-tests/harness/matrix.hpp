// Every victim at every journaled step, as scenarios; a sample of them by a seed; the table of what came of
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "migration-tests/harness/result.hpp"
#include "migration-tests/harness/scenario.hpp"

namespace rdmove::harness {

/// In the order of the steps. A case that can't be (there is no QEMU at the destination yet) is left out.
std::vector<Scenario> matrixScenarios();

/// `count` of them, each once, the same ones for the same seed.
std::vector<Scenario> sampleOf(std::vector<Scenario> scenarios, std::size_t count, std::uint64_t seed);

/// One row a step, one column a victim, in Markdown. What was not run is empty, what can't be is "–".
std::string matrixTable(const std::vector<ScenarioResult>& results);

/// The table of a run in pieces: what this piece did not run stays as it was.
std::string mergedTable(const std::string& before, const std::string& now);

}  // namespace rdmove::harness
