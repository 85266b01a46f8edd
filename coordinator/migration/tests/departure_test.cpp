// Every transition of the departure, as a table (state, event) -> state, and the rules that the table cannot
// say.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "coordinator/migration/departure.hpp"
#include "coordinator/migration/tests/recorded_actions.hpp"

namespace rdmove {
namespace {

using Step = DepartureStep;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Error kBroken{ErrorCode::kInternal, "do it", "it broke", ""};
const Error kHeld{ErrorCode::kHoldouts, "prepare", "pid 7 holds rxe0", ""};
const Error kRefused{ErrorCode::kRefused, "unplug", "the guest refused", ""};
const Error kGone{ErrorCode::kNotFound, "unplug", "the domain ended", ""};
const Error kNobody{ErrorCode::kUnavailable, "reach the agent", "no answer", ""};

class Departure {
 public:
  explicit Departure(DepartureTimes times = {std::chrono::seconds(10), std::chrono::seconds(60)})
      : machine(world, times) {}

  void ok(Step step) { machine.process(DepartureStepSucceeded(step, world.attemptOf(step))); }
  void fail(Step step, Error error = kBroken) {
    machine.process(DepartureStepFailed(step, world.attemptOf(step), std::move(error)));
  }
  void deadline() {
    if (world.armed.empty()) return;
    const TimerId timer = world.armed.back().first;
    world.armed.pop_back();
    machine.process(DeadlinePassed(timer));
  }

  RecordedActions<Step> world;
  DepartureMachine machine;
};

/// The step that a state works on, and the steps that lead to it from a fresh start.
struct Place {
  Step works_on;
  std::vector<Step> path;
  bool last_fails = false;
};

const std::map<std::string, Place>& places() {
  static const std::map<std::string, Place> all = [] {
    std::map<std::string, Place> map;
    const std::vector<std::pair<const char*, Step>> forward = {
        {"Preflight", Step::kExamine},           {"Reserving", Step::kReserve},
        {"Preparing", Step::kPrepareGuest},      {"Unplugging", Step::kUnplug},
        {"TakingIdentity", Step::kTakeIdentity}, {"AnnouncingRelease", Step::kAnnounceRelease},
        {"Transferring", Step::kTransfer},       {"Handover", Step::kAwaitArrival},
        {"Releasing", Step::kReturnVf},          {"Completed", Step::kReturnVf}};
    std::vector<Step> path;
    for (const auto& [phase, step] : forward) {
      map[phase] = {step, path, false};
      path.push_back(step);
    }
    map["Refused"] = {Step::kExamine, {Step::kExamine}, true};
    map["Refusing"] = {Step::kWithdraw, {Step::kExamine, Step::kReserve}, true};
    map["Unpreparing"] = {Step::kRestoreGuest, {Step::kExamine, Step::kReserve, Step::kPrepareGuest}, true};
    map["Settling"] = {Step::kSettle, map["Handover"].path, true};
    map["Replugging"] = {Step::kReplug, map["AnnouncingRelease"].path, true};
    return map;
  }();
  return all;
}

/// A machine in `phase`. What the forward path does not reach is reached as a restarted daemon reaches it.
std::unique_ptr<Departure> at(const std::string& phase) {
  auto departure = std::make_unique<Departure>();
  const auto place = places().find(phase);
  if (place == places().end()) {
    departure->machine.start(phase == "RolledBack" ? "Withdrawing" : phase);
    if (phase == "RolledBack") departure->ok(Step::kWithdraw);
    EXPECT_EQ(departure->machine.phase(), phase);
    return departure;
  }
  departure->machine.start("");
  const auto& path = place->second.path;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool fails = place->second.last_fails && i + 1 == path.size();
    if (fails) {
      departure->fail(path[i]);
    } else {
      departure->ok(path[i]);
    }
  }
  // Settling's and Replugging's paths end in the state before, whose step fails.
  if (phase == "Replugging") departure->fail(Step::kTakeIdentity);
  EXPECT_EQ(departure->machine.phase(), phase);
  return departure;
}

struct Row {
  const char* phase;
  const char* event;
  const char* next;
};

// The whole table. "-" stays where it is.
const Row kTable[] = {
    {"Preflight", "ok", "Reserving"},
    {"Preflight", "fail", "Refused"},
    {"Preflight", "cancel+ok", "Refused"},
    {"Preflight", "deadline", "-"},
    {"Preflight", "arrived", "-"},
    {"Reserving", "ok", "Preparing"},
    {"Reserving", "fail", "Refusing"},
    {"Reserving", "cancel+ok", "Refusing"},
    {"Reserving", "deadline", "-"},
    {"Reserving", "arrived", "-"},
    {"Preparing", "ok", "Unplugging"},
    {"Preparing", "fail", "Unpreparing"},
    {"Preparing", "held", "Withdrawing"},
    {"Preparing", "nobody", "Withdrawing"},
    {"Preparing", "cancel+ok", "RestoringGuest"},
    {"Preparing", "deadline", "-"},
    {"Preparing", "arrived", "-"},
    {"Unplugging", "ok", "TakingIdentity"},
    {"Unplugging", "fail", "UnplugStuck"},
    {"Unplugging", "refused", "Replugging"},
    {"Unplugging", "gone", "Replugging"},
    {"Unplugging", "deadline", "UnplugStuck"},
    {"Unplugging", "cancel+ok", "Replugging"},
    {"Unplugging", "arrived", "-"},
    {"UnplugStuck", "ok", "Replugging"},
    {"UnplugStuck", "fail", "-"},
    {"UnplugStuck", "gone", "Replugging"},
    {"UnplugStuck", "cancel+ok", "Replugging"},
    {"UnplugStuck", "deadline", "-"},
    {"UnplugStuck", "arrived", "-"},
    {"TakingIdentity", "ok", "AnnouncingRelease"},
    {"TakingIdentity", "fail", "Replugging"},
    {"TakingIdentity", "cancel+ok", "Replugging"},
    {"TakingIdentity", "deadline", "-"},
    {"TakingIdentity", "arrived", "-"},
    {"AnnouncingRelease", "ok", "Transferring"},
    {"AnnouncingRelease", "fail", "Replugging"},
    {"AnnouncingRelease", "cancel+ok", "Replugging"},
    {"AnnouncingRelease", "deadline", "-"},
    {"AnnouncingRelease", "arrived", "-"},
    {"Transferring", "ok", "Handover"},
    {"Transferring", "fail", "Settling"},
    {"Transferring", "deadline", "-"},
    {"Transferring", "cancel+ok", "Handover"},
    {"Transferring", "cancel+fail", "Settling"},
    {"Transferring", "arrived", "Handover"},
    {"Settling", "ok", "Replugging"},
    {"Settling", "fail", "-"},
    {"Settling", "deadline", "-"},
    {"Settling", "arrived", "Handover"},
    {"Handover", "ok", "Releasing"},
    {"Handover", "fail", "-"},
    {"Handover", "deadline", "-"},
    {"Handover", "arrived", "-"},
    {"Releasing", "ok", "Completed"},
    {"Releasing", "fail", "-"},
    {"Releasing", "deadline", "-"},
    {"Releasing", "arrived", "-"},
    {"Unpreparing", "ok", "Withdrawing"},
    {"Unpreparing", "fail", "Withdrawing"},
    {"Unpreparing", "deadline", "-"},
    {"Unpreparing", "arrived", "-"},
    {"Replugging", "ok", "RestoringGuest"},
    {"Replugging", "fail", "-"},
    {"Replugging", "deadline", "-"},
    {"Replugging", "arrived", "-"},
    {"RestoringGuest", "ok", "Withdrawing"},
    {"RestoringGuest", "fail", "-"},
    {"RestoringGuest", "deadline", "-"},
    {"RestoringGuest", "arrived", "-"},
    {"Withdrawing", "ok", "RolledBack"},
    {"Withdrawing", "fail", "RolledBack"},
    {"Withdrawing", "deadline", "-"},
    {"Withdrawing", "arrived", "-"},
    {"Refusing", "ok", "Refused"},
    {"Refusing", "fail", "Refused"},
    {"Refusing", "deadline", "-"},
    {"Refusing", "arrived", "-"},
    {"Completed", "arrived", "-"},
    {"Refused", "arrived", "-"},
    {"RolledBack", "arrived", "-"},
};

Step worksOn(const std::string& phase) {
  static const std::map<std::string, Step> rest = {{"UnplugStuck", Step::kUnplug},
                                                   {"RestoringGuest", Step::kRestoreGuest},
                                                   {"Withdrawing", Step::kWithdraw}};
  const auto place = places().find(phase);
  return place != places().end() ? place->second.works_on : rest.at(phase);
}

class DepartureTable : public ::testing::TestWithParam<Row> {};

TEST_P(DepartureTable, goes_where_the_table_says) {
  const Row row = GetParam();
  const auto departure = at(row.phase);
  const std::string event = row.event;
  if (event.rfind("cancel", 0) == 0) {
    EXPECT_TRUE(departure->machine.cancel());
  }
  if (event == "ok" || event == "cancel+ok") departure->ok(worksOn(row.phase));
  if (event == "fail" || event == "cancel+fail") departure->fail(worksOn(row.phase));
  if (event == "held") departure->fail(worksOn(row.phase), kHeld);
  if (event == "refused") departure->fail(worksOn(row.phase), kRefused);
  if (event == "gone") departure->fail(worksOn(row.phase), kGone);
  if (event == "nobody") departure->fail(worksOn(row.phase), kNobody);
  if (event == "deadline") departure->deadline();
  if (event == "arrived") departure->machine.process(DomainArrived());
  EXPECT_EQ(departure->machine.phase(), std::string(row.next) == "-" ? row.phase : row.next);
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
  const std::map<std::string, std::string> recovered = {{"Preflight", "Refusing"},
                                                        {"Reserving", "Refusing"},
                                                        {"Refusing", "Refusing"},
                                                        {"Preparing", "RestoringGuest"},
                                                        {"RestoringGuest", "RestoringGuest"},
                                                        {"Unplugging", "Unplugging"},
                                                        {"UnplugStuck", "UnplugStuck"},
                                                        {"TakingIdentity", "TakingIdentity"},
                                                        {"AnnouncingRelease", "AnnouncingRelease"},
                                                        {"Transferring", "Transferring"},
                                                        {"Settling", "Settling"},
                                                        {"Handover", "Handover"},
                                                        {"Releasing", "Releasing"},
                                                        {"Replugging", "Replugging"},
                                                        {"Withdrawing", "Withdrawing"},
                                                        {"Unpreparing", "Unpreparing"},
                                                        {"a phase of a later version", "Settling"}};
  for (const std::string& phase : DepartureMachine::phases()) {
    if (phase == "Completed" || phase == "Refused" || phase == "RolledBack") continue;
    ASSERT_EQ(recovered.count(phase), 1U) << phase;
  }
  for (const auto& [phase, next] : recovered) {
    Departure departure;
    departure.machine.start(phase);
    EXPECT_EQ(departure.machine.phase(), next);
  }
}

}  // namespace
}  // namespace rdmove
