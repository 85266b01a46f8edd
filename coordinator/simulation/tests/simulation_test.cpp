// A bounded number of simulated migrations, in blocks that ctest runs side by side. RDMOVE_SIMULATIONS=N
// makes N migrations of each block; RDMOVE_SIMULATION_SEED=S begins elsewhere. A seed that fails is printed
// with the command that runs it again.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

#include "coordinator/simulation/many.hpp"
#include "coordinator/simulation/tests/place.hpp"

namespace rdmove::simulation {
namespace {

constexpr std::uint64_t kMigrations = 2500;
constexpr std::uint64_t kBlocks = 8;
/// Blocks never meet: a seed is one migration at least.
constexpr std::uint64_t kBetweenBlocks = 100000000;

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class SimulationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    spdlog::set_level(spdlog::level::off);
    quickenSqlite();
  }
  Place place_;
};

class Blocks : public SimulationTest, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(Blocks, the_invariants_hold_at_every_step_of_every_migration) {
  const std::uint64_t first = number("RDMOVE_SIMULATION_SEED", 1) + GetParam() * kBetweenBlocks;
  const Sum sum = runMany(first, number("RDMOVE_SIMULATIONS", kMigrations), place_.path() / "block", 3);
  fmt::print("seeds {}..{}: {} migrations, {} kills\n", first, first + sum.seeds - 1, sum.migrations,
             sum.kills);
  for (const Report& failure : sum.failures) {
    ADD_FAILURE() << "rdmove_simulate --seed " << failure.seed << ": \"" << failure.violation->rule
                  << "\" does not hold: " << failure.violation->what;
  }
  // What never fails or never ends tests nothing.
  for (const char* end :
       {"departure Completed", "departure RolledBack", "departure Refused", "arrival Withdrawn"})
    EXPECT_GT(sum.ends.count(end) == 0 ? 0 : sum.ends.at(end), 0U) << end;
  EXPECT_GT(sum.kills, 0U);
}

INSTANTIATE_TEST_SUITE_P(Of, Blocks, ::testing::Range(std::uint64_t{0}, kBlocks));

TEST_F(SimulationTest, the_same_seed_is_the_same_run) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<std::string> runs[2];
    for (auto& lines : runs) {
      Simulation simulation(seed, place_.path() / "same",
                            [&lines](const std::string& line) { lines.push_back(line); });
      simulation.run();
    }
    ASSERT_EQ(runs[0], runs[1]) << "seed " << seed;
    EXPECT_GT(runs[0].size(), 5U);
  }
}

}  // namespace
}  // namespace rdmove::simulation
