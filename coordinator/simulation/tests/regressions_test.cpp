// Seeds that broke a rule once, under the name of what was wrong. A change of the simulated world changes
// what a seed does: then the seed here is one among many, and the mechanism's own unit test is what stays.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <vector>

#include "coordinator/simulation/many.hpp"
#include "coordinator/simulation/tests/place.hpp"

namespace rdmove::simulation {
namespace {

struct Fault {
  const char* name;
  std::vector<std::uint64_t> seeds;
};

const Fault kFaults[] = {
    {"a_source_that_lost_power_does_not_take_a_domain_that_is_gone_for_one_that_arrived", {176}},
    {"a_source_and_a_destination_that_lost_power_do_not_wait_for_each_other", {113}},
    {"a_copy_of_the_past_is_not_resumed_when_the_vm_has_ended_at_the_destination", {9666}},
    {"a_copy_of_the_past_is_not_resumed_when_its_arrival_was_completed", {2843}},
    {"a_copy_that_libvirt_resumed_is_not_left_behind", {8741}},
    {"a_second_copy_is_paused_by_a_departure_that_was_killed_in_its_last_phase", {10874}},
    {"a_vf_is_swept_when_its_vm_ended_while_libvirtd_was_away", {200000044}},
    {"a_vf_that_its_hosts_driver_has_again_after_a_power_loss_is_taken_from_it_for_the_attach", {10006583, 10063631}},
    {"a_guest_whose_holder_has_let_go_is_asked_for_the_unplug_again", {10020529, 10022547}},
    {"a_guest_is_asked_for_the_unplug_again_though_the_journal_was_full_when_it_got_stuck", {10017637, 10048750}},
    {"a_definition_that_a_degraded_arrival_left_wrong_is_right_after_the_way_back",
     {10011645, 10032200, 10045700, 10056212}},
    {"a_copy_that_libvirt_resumes_is_paused_by_a_departure_that_has_not_seen_the_switch",
     {10015184, 10042195, 10056046, 60000379}},
    {"a_running_vm_keeps_its_vf_when_libvirtd_goes_away_over_the_sweeps_question", {10020189, 10040963, 10048621}},
    {"a_debt_is_not_forgotten_by_a_daemon_that_is_killed_as_it_takes_it_over", {10034533, 10049038, 10056859}},
    {"a_simulated_agent_that_has_prepared_names_no_holdout_when_it_is_asked_again", {20007179}},
    {"another_movers_vm_that_the_partner_let_in_is_not_taken_for_one_that_ended", {10047715, 20010192}},
    {"a_transfer_that_was_not_begun_before_a_restart_asks_for_the_release_again", {40008834}},
    {"a_definition_that_another_mover_copied_is_right_though_the_migration_was_ours", {40009022}},
    {"an_identity_does_not_come_back_while_a_migration_runs", {40017227, 120006200}},
    {"a_copy_that_runs_while_libvirtd_was_away_is_paused_when_it_is_back", {50007232}},
    {"a_vm_that_ran_and_ended_before_its_arrival_looked_may_have_run", {50011380}},
    {"an_arrival_is_not_over_before_its_last_plug_is", {50000979, 100000478}},
    {"a_vf_is_not_leased_for_an_arrival_that_is_over", {50021138}},
    {"a_copy_that_was_paused_until_the_partner_is_asked_goes_on_when_it_never_ran_there", {40031187}},
    {"a_device_is_not_put_back_into_a_vm_that_another_mover_switches_meanwhile", {80027075}},
    {"a_way_back_that_cannot_know_who_runs_the_vm_takes_the_operators_word", {40020367}},
};

class Regression : public ::testing::TestWithParam<Fault> {};

TEST_P(Regression, stays_away) {
  spdlog::set_level(spdlog::level::off);
  const Place place;
  for (const std::uint64_t seed : GetParam().seeds) {
    const Report report = Simulation(seed, place.path() / "seed").run();
    EXPECT_GT(report.migrations, 0U);
    EXPECT_FALSE(report.violation) << "rdmove_simulate --seed " << seed << ": " << report.violation->rule << ": "
                                   << report.violation->what;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Regression, ::testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

}  // namespace
}  // namespace rdmove::simulation
