// Every transition of the arrival, as a table (state, event) -> state, and the rules that the table cannot
// say.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "coordinator/migration/arrival.hpp"
#include "coordinator/migration/tests/declared_transitions.hpp"
#include "coordinator/migration/tests/recorded_actions.hpp"

namespace rdmove {
namespace {

using Step = ArrivalStep;
using ::testing::IsEmpty;

const Error kBroken{ErrorCode::kConflict, "attach", "the job lock", ""};
constexpr std::chrono::milliseconds kBudget{1000};

class Arrival {
 public:
  Arrival() : machine(world, kBudget) {}
  void ok(Step step) { machine.process(ArrivalStepSucceeded(step, world.attemptOf(step))); }
  void fail(Step step) { machine.process(ArrivalStepFailed(step, world.attemptOf(step), kBroken)); }
  void deadline() {
    ASSERT_FALSE(world.armed.empty());
    const TimerId timer = world.armed.back().first;
    world.armed.pop_back();
    machine.process(DeadlinePassed(timer));
  }

  RecordedActions<Step> world;
  ArrivalMachine machine;
};

const std::map<std::string, Step> kWorksOn = {
    {"Staging", Step::kStage},     {"Plugging", Step::kPlug},   {"RestoringGuest", Step::kRestoreGuest},
    {"Verifying", Step::kVerify},  {"Freeing", Step::kUnstage}, {"Unstaging", Step::kUnstage},
    {"Abandoning", Step::kUnstage}};

std::unique_ptr<Arrival> at(const std::string& phase) {
  auto arrival = std::make_unique<Arrival>();
  if (phase == "Staging" || phase == "Refused") {
    arrival->machine.start("");
    if (phase == "Refused") arrival->fail(Step::kStage);
  } else if (phase == "Completed") {
    arrival->machine.start("Freeing");
    arrival->ok(Step::kUnstage);
  } else if (phase == "Withdrawn") {
    arrival->machine.start("Unstaging");
    arrival->ok(Step::kUnstage);
  } else {
    arrival->machine.start(phase);
  }
  EXPECT_EQ(arrival->machine.phase(), phase);
  return arrival;
}

struct Row {
  const char* phase;
  const char* event;
  const char* next;
};

const std::vector<std::string> kEvents = {"ok",   "fail", "released", "incoming", "resumed",
                                          "gone", "lost", "withdraw", "expired"};

// What moves; every other pair of state and event stays where it is.
const Row kMoves[] = {
    {"Staging", "ok", "Reserved"},          {"Staging", "fail", "Refused"},
    {"Reserved", "released", "Awaiting"},   {"Reserved", "withdraw", "Unstaging"},
    {"Reserved", "expired", "Unstaging"},   {"Awaiting", "incoming", "Incoming"},
    {"Awaiting", "resumed", "Plugging"},    {"Awaiting", "withdraw", "Unstaging"},
    {"Awaiting", "expired", "Unstaging"},   {"Incoming", "resumed", "Plugging"},
    {"Incoming", "gone", "Awaiting"},       {"Incoming", "withdraw", "Unstaging"},
    {"Plugging", "ok", "RestoringGuest"},   {"Plugging", "gone", "Abandoning"},
    {"RestoringGuest", "ok", "Verifying"},  {"RestoringGuest", "gone", "Abandoning"},
    {"Verifying", "ok", "Freeing"},         {"Verifying", "gone", "Abandoning"},
    {"RestoringGuest", "lost", "Plugging"}, {"Verifying", "lost", "Plugging"},
    {"Freeing", "ok", "Completed"},         {"Unstaging", "ok", "Withdrawn"},
    {"Abandoning", "ok", "Withdrawn"},
};

void send(Arrival& arrival, const std::string& phase, const std::string& event) {
  const auto works_on = kWorksOn.find(phase);
  if (event == "ok" && works_on != kWorksOn.end()) arrival.ok(works_on->second);
  if (event == "fail" && works_on != kWorksOn.end()) arrival.fail(works_on->second);
  if (event == "released") arrival.machine.process(IdentityReleased());
  if (event == "incoming") arrival.machine.process(DomainIncoming());
  if (event == "resumed") arrival.machine.process(DomainResumed());
  if (event == "gone") arrival.machine.process(DomainGone());
  if (event == "lost") arrival.machine.process(DeviceLost());
  if (event == "withdraw") arrival.machine.process(WithdrawRequested());
  if (event == "expired") arrival.machine.process(LeaseExpired());
}

TEST(Arrival, every_state_and_event_goes_where_the_table_says) {
  for (const std::string& phase : ArrivalMachine::phases()) {
    for (const std::string& event : kEvents) {
      SCOPED_TRACE(phase + " + " + event);
      std::string next = phase;
      for (const Row& row : kMoves) {
        if (phase == row.phase && event == row.event) next = row.next;
      }
      const auto arrival = at(phase);
      send(*arrival, phase, event);
      EXPECT_EQ(arrival->machine.phase(), next);
    }
  }
}

TEST(Arrival, a_restart_goes_on_from_every_journaled_phase) {
  for (const std::string& phase : ArrivalMachine::phases()) {
    if (phase == "Completed" || phase == "Refused" || phase == "Withdrawn") continue;
    Arrival arrival;
    arrival.machine.start(phase);
    EXPECT_EQ(arrival.machine.phase(), phase == "Staging" ? "Unstaging" : phase);
  }
  Arrival later;
  later.machine.start("a phase of a later version");
  EXPECT_EQ(later.machine.phase(), "Plugging");
}

TEST(Arrival, the_tests_take_every_transition_that_the_source_has_and_no_other) {
  Transitions taken = {{"Boot", "Staging"}};
  for (const std::string& phase : ArrivalMachine::phases()) {
    for (const std::string& event : kEvents) {
      const auto arrival = at(phase);
      send(*arrival, phase, event);
      if (const std::string next = arrival->machine.phase(); next != phase) taken.emplace(phase, next);
    }
    if (phase == "Completed" || phase == "Refused" || phase == "Withdrawn") continue;
    Arrival recovered;
    recovered.machine.start(phase);
    taken.emplace("Boot", recovered.machine.phase());
  }
  const auto withdrawn = at("Staging");
  withdrawn->machine.process(WithdrawRequested());
  withdrawn->ok(Step::kStage);
  taken.emplace("Staging", withdrawn->machine.phase());
  EXPECT_THAT(taken, ::testing::ContainerEq(declaredTransitions(RDMOVE_MACHINES "/arrival.cpp")));
}

TEST(Arrival, every_state_that_is_no_end_can_be_left) {
  std::set<std::string> left;
  for (const Row& row : kMoves) left.insert(row.phase);
  for (const std::string& phase : ArrivalMachine::phases()) {
    const bool end = phase == "Completed" || phase == "Refused" || phase == "Withdrawn";
    EXPECT_EQ(left.count(phase), end ? 0U : 1U) << phase;
  }
}

TEST(Arrival, a_domain_that_resumes_without_the_sources_word_is_not_plugged) {
  const auto arrival = at("Reserved");
  arrival->machine.process(DomainResumed());
  EXPECT_EQ(arrival->machine.phase(), "Reserved");
  EXPECT_FALSE(arrival->world.degraded.empty());
  EXPECT_FALSE(arrival->world.hasBegun(Step::kPlug));
}

TEST(Arrival, a_withdrawal_while_it_stages_is_remembered) {
  const auto arrival = at("Staging");
  arrival->machine.process(WithdrawRequested());
  EXPECT_EQ(arrival->machine.phase(), "Staging");
  arrival->ok(Step::kStage);
  EXPECT_EQ(arrival->machine.phase(), "Unstaging");
}

TEST(Arrival, an_attach_is_tried_again_and_degraded_only_after_its_budget) {
  const auto arrival = at("Plugging");
  arrival->fail(Step::kPlug);
  EXPECT_THAT(arrival->world.degraded, IsEmpty());
  for (int i = 0; i < 4; ++i) {
    arrival->deadline();
    arrival->fail(Step::kPlug);
  }
  EXPECT_FALSE(arrival->world.degraded.empty());
  arrival->deadline();
  arrival->ok(Step::kPlug);
  EXPECT_EQ(arrival->machine.phase(), "RestoringGuest");
}

TEST(Arrival, the_point_of_no_return_is_the_resume) {
  for (const char* phase : {"Staging", "Reserved", "Awaiting", "Incoming", "Unstaging"}) {
    EXPECT_FALSE(at(phase)->machine.arrived()) << phase;
  }
  for (const char* phase : {"Plugging", "RestoringGuest", "Verifying", "Freeing", "Completed"}) {
    EXPECT_TRUE(at(phase)->machine.arrived()) << phase;
  }
}

TEST(Arrival, waiting_states_look_at_the_domain_when_they_are_entered) {
  for (const char* phase : {"Awaiting", "Incoming"})
    EXPECT_TRUE(at(phase)->world.hasBegun(Step::kObserve)) << phase;
}

TEST(Arrival, a_restart_in_the_middle_of_staging_gives_the_lease_back) {
  Arrival arrival;
  arrival.machine.start("Staging");
  EXPECT_EQ(arrival.machine.phase(), "Unstaging");
}

TEST(Arrival, an_end_that_was_journaled_stays_out_of_reach_of_events) {
  const auto arrival = at("Completed");
  arrival->machine.process(WithdrawRequested());
  arrival->machine.process(DomainGone());
  EXPECT_EQ(arrival->machine.phase(), "Completed");
  EXPECT_EQ(arrival->world.outcome, Outcome::kCompleted);
}

}  // namespace
}  // namespace rdmove
