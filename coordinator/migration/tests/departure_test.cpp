// Every transition of the departure against its table, and the rules that the table cannot say.
#include "coordinator/migration/tests/departure_table.hpp"

#include <gtest/gtest.h>

#include "coordinator/migration/tests/declared_transitions.hpp"

namespace rdmove::departure_table {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DepartureTable : public ::testing::TestWithParam<Row> {};

TEST_P(DepartureTable, goes_where_the_table_says) {
  const Row row = GetParam();
  EXPECT_EQ(play(row)->machine.phase(), std::string(row.next) == "-" ? row.phase : row.next);
}

INSTANTIATE_TEST_SUITE_P(All, DepartureTable, ::testing::ValuesIn(kTable), [](const auto& row) {
  std::string name = std::string(row.param.phase) + "_" + row.param.event;
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
});

TEST(Departure, every_state_has_its_rows) {
  const std::set<std::string> ends = {"Completed", "Refused", "RolledBack"};
  for (const std::string& phase : DepartureMachine::phases()) {
    std::set<std::string> events;
    for (const Row& row : kTable) {
      if (phase == row.phase) events.insert(row.event);
    }
    EXPECT_THAT(events, Contains("arrived")) << phase;
    if (ends.count(phase) > 0) continue;
    EXPECT_THAT(events, Contains("ok")) << phase;
    EXPECT_THAT(events, Contains("fail")) << phase;
    EXPECT_THAT(events, Contains("deadline")) << phase;
  }
}

TEST(Departure, a_whole_migration_does_its_steps_in_order) {
  const auto departure = at("Completed");
  EXPECT_THAT(departure->world.begun, ElementsAre(Step::kExamine, Step::kReserve, Step::kPrepareGuest,
                                                  Step::kUnplug, Step::kTakeIdentity, Step::kAnnounceRelease,
                                                  Step::kTransfer, Step::kAwaitArrival, Step::kReturnVf));
  EXPECT_EQ(departure->world.outcome, Outcome::kCompleted);
  EXPECT_THAT(departure->world.blamed, IsEmpty());
  EXPECT_THAT(departure->world.armed, IsEmpty()) << "a timer outlived its state";
  for (const auto& [phase, failed] : departure->world.left) EXPECT_FALSE(failed) << phase;
}

TEST(Departure, a_late_answer_to_an_earlier_start_is_dropped) {
  Departure departure;
  departure.machine.start("Replugging");
  const Attempt first = departure.world.attemptOf(Step::kReplug);
  departure.fail(Step::kReplug);
  departure.deadline();
  ASSERT_NE(departure.world.attemptOf(Step::kReplug), first);
  departure.machine.process(DepartureStepSucceeded(Step::kReplug, first));
  EXPECT_EQ(departure.machine.phase(), "Replugging");
}

TEST(Departure, a_retry_waits_longer_each_time_and_says_degraded_after_ten_seconds) {
  Departure departure;
  departure.machine.start("Replugging");
  std::chrono::milliseconds waited{0};
  std::chrono::milliseconds last{0};
  while (departure.world.degraded.empty()) {
    departure.fail(Step::kReplug);
    ASSERT_FALSE(departure.world.armed.empty());
    EXPECT_GT(departure.world.armed.back().second, last);
    last = departure.world.armed.back().second;
    waited += last;
    ASSERT_LT(waited, std::chrono::seconds(60));
    departure.deadline();
  }
  EXPECT_GE(waited, std::chrono::seconds(10));
}

TEST(Departure, the_operators_word_ends_the_wait_for_the_next_try) {
  const auto departure = at("Settling");
  departure->fail(Step::kSettle);
  ASSERT_EQ(departure->world.armed.size(), 1U);
  const Attempt before = departure->world.attemptOf(Step::kSettle);
  departure->machine.process(TryNow());
  EXPECT_NE(departure->world.attemptOf(Step::kSettle), before);
  EXPECT_THAT(departure->world.armed, IsEmpty());
}

TEST(Departure, the_operators_word_starts_no_try_beside_one_that_runs) {
  const auto departure = at("Settling");
  const Attempt running = departure->world.attemptOf(Step::kSettle);
  departure->machine.process(TryNow());
  EXPECT_EQ(departure->world.attemptOf(Step::kSettle), running);
  departure->fail(Step::kSettle);  // it may not have heard the word
  EXPECT_NE(departure->world.attemptOf(Step::kSettle), running);
  EXPECT_THAT(departure->world.armed, IsEmpty());
}

TEST(Departure, a_partner_that_does_not_say_who_runs_it_is_degraded_at_once) {
  const auto departure = at("Settling");
  departure->fail(Step::kSettle, Error{ErrorCode::kTimeout, "settle", "hostb does not say", ""});
  EXPECT_EQ(departure->world.degraded.size(), 1U);
  EXPECT_EQ(departure->machine.phase(), "Settling");
}

TEST(Departure, a_holdout_after_the_unplug_is_degraded_and_heals_when_it_ends) {
  const auto departure = at("Unplugging");
  departure->deadline();
  EXPECT_EQ(departure->machine.phase(), "UnplugStuck");
  EXPECT_FALSE(departure->world.degraded.empty());
  EXPECT_TRUE(departure->world.hasBegun(Step::kNameHoldouts));
  departure->ok(Step::kUnplug);
  departure->ok(Step::kReplug);
  departure->ok(Step::kRestoreGuest);
  departure->ok(Step::kWithdraw);
  EXPECT_EQ(departure->world.outcome, Outcome::kRolledBack);
}

TEST(Departure, cancel_in_the_transfer_asks_libvirt_and_lets_the_job_decide) {
  const auto departure = at("Transferring");
  EXPECT_TRUE(departure->machine.cancel());
  EXPECT_TRUE(departure->world.hasBegun(Step::kAbortTransfer));
  EXPECT_EQ(departure->machine.phase(), "Transferring");
  departure->ok(Step::kTransfer);  // it raced the finish
  EXPECT_EQ(departure->machine.phase(), "Handover");
}

TEST(Departure, cancel_is_refused_past_the_point_of_no_return_and_on_the_way_back) {
  for (const char* phase :
       {"Handover", "Releasing", "Settling", "Replugging", "RestoringGuest", "Completed"}) {
    EXPECT_FALSE(at(phase)->machine.cancel()) << phase;
  }
}

TEST(Departure, the_time_limit_of_the_transfer_aborts_it) {
  const auto departure = at("Transferring");
  departure->deadline();
  EXPECT_TRUE(departure->world.hasBegun(Step::kAbortTransfer));
  ASSERT_FALSE(departure->world.blamed.empty());
  EXPECT_EQ(departure->world.blamed.front().code, ErrorCode::kTimeout);
}

TEST(Departure, no_time_limit_arms_no_timer) {
  Departure departure({std::chrono::seconds(10), std::chrono::milliseconds(0)});
  departure.machine.start("Transferring");
  EXPECT_THAT(departure.world.armed, IsEmpty());
}

TEST(Departure, a_holdout_before_the_unplug_never_asks_for_it) {
  const auto departure = at("Preparing");
  departure->fail(Step::kPrepareGuest, kHeld);
  departure->ok(Step::kWithdraw);
  EXPECT_EQ(departure->world.outcome, Outcome::kRolledBack);
  EXPECT_FALSE(departure->world.hasBegun(Step::kUnplug));
  EXPECT_FALSE(departure->world.hasBegun(Step::kReplug));
}

TEST(Departure, a_restart_goes_on_from_every_journaled_phase) {
  for (const std::string& phase : DepartureMachine::phases()) {
    if (phase == "Completed" || phase == "Refused" || phase == "RolledBack") continue;
    ASSERT_EQ(kRecovered.count(phase), 1U) << phase;
  }
  for (const auto& [phase, next] : kRecovered) {
    Departure departure;
    departure.machine.start(phase);
    EXPECT_EQ(departure.machine.phase(), next.front());
    Departure indebted({std::chrono::seconds(10), std::chrono::seconds(60), Debt::kInherited});
    indebted.machine.start(phase);
    EXPECT_EQ(indebted.machine.phase(), next.back());
  }
}

TEST(Departure, the_table_takes_every_transition_that_the_source_has_and_no_other) {
  Transitions taken = {{"Boot", "Preflight"}};  // each row's own start
  for (const Row& row : kTable) {
    const std::string next = play(row)->machine.phase();
    if (next != row.phase) taken.emplace(row.phase, next);
  }
  for (const auto& [phase, nexts] : kRecovered) {
    for (const std::string& next : nexts) taken.emplace("Boot", next);
  }
  EXPECT_THAT(taken, ::testing::ContainerEq(declaredTransitions(RDMOVE_MACHINES "/departure.cpp")));
}

}  // namespace
}  // namespace rdmove::departure_table
