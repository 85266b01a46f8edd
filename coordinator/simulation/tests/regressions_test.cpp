// Seeds that broke a rule once, under the name of what was wrong. A change of the simulated world changes
// what a seed does: then the seed here is one among many, and the mechanism's own unit test is what stays.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "coordinator/simulation/many.hpp"
#include "coordinator/simulation/tests/place.hpp"

namespace rdmove::simulation {
namespace {

struct Seed {
  const char* name;
  std::uint64_t seed;
};

const Seed kSeeds[] = {
    {"a_source_that_lost_power_does_not_take_a_domain_that_is_gone_for_one_that_arrived", 176},
    {"a_source_and_a_destination_that_lost_power_do_not_wait_for_each_other", 113},
    {"a_copy_of_the_past_is_not_resumed_when_the_vm_has_ended_at_the_destination", 9666},
    {"a_copy_of_the_past_is_not_resumed_when_its_arrival_was_completed", 2843},
    {"a_copy_that_libvirt_resumed_is_not_left_behind", 8741},
    {"a_second_copy_is_paused_by_a_departure_that_was_killed_in_its_last_phase", 10874},
    {"a_vf_is_swept_when_its_vm_ended_while_libvirtd_was_away", 200000044},
};

class Regression : public ::testing::TestWithParam<Seed> {};

TEST_P(Regression, stays_away) {
  spdlog::set_level(spdlog::level::off);
  const Place place;
  const Report report = Simulation(GetParam().seed, place.path() / "seed").run();
  EXPECT_GT(report.migrations, 0U);
  EXPECT_FALSE(report.violation) << "rdmove_simulate --seed " << GetParam().seed << ": "
                                 << report.violation->rule << ": " << report.violation->what;
}

INSTANTIATE_TEST_SUITE_P(Of, Regression, ::testing::ValuesIn(kSeeds),
                         [](const auto& seed) { return std::string(seed.param.name); });

}  // namespace
}  // namespace rdmove::simulation
