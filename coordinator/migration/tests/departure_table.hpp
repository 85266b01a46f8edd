// The departure's whole table (state, event) -> state, how a machine is brought into each state, and how each
// event is sent. Shared by the tests that hold the machine against it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "coordinator/migration/departure.hpp"
#include "coordinator/migration/tests/recorded_actions.hpp"

namespace rdmove::departure_table {

using Step = DepartureStep;

inline const Error kBroken{ErrorCode::kInternal, "do it", "it broke", ""};
inline const Error kHeld{ErrorCode::kHoldouts, "prepare", "pid 7 holds rxe0", ""};
inline const Error kRefused{ErrorCode::kRefused, "unplug", "the guest refused", ""};
inline const Error kGone{ErrorCode::kNotFound, "unplug", "the domain ended", ""};
inline const Error kNobody{ErrorCode::kUnavailable, "reach the agent", "no answer", ""};

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

inline const std::map<std::string, Place>& places() {
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
    map["Prepared"] = {Step::kAwaitMover, map["Transferring"].path, false};
    map["Recalling"] = {Step::kRecall, map["Transferring"].path, false};
    map["Recalling"].path.push_back(Step::kAwaitMover);
    map["Recalling"].last_fails = true;
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
inline std::unique_ptr<Departure> at(const std::string& phase, Debt debt = Debt::kNone,
                                     Mover mover = Mover::kRdmove) {
  if (phase == "Prepared" || phase == "Recalling") mover = Mover::kAnother;
  auto departure = std::make_unique<Departure>(
      DepartureTimes{std::chrono::seconds(10), std::chrono::seconds(60), debt, mover});
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

// The whole table. "-" stays where it is; "owed" is a VM that moves on from a Degraded arrival, "another" one
// that another mover moves.
inline const Row kTable[] = {
    {"Preflight", "ok", "Reserving"},
    {"Preflight", "fail", "Refused"},
    {"Preflight", "cancel+ok", "Refused"},
    {"Preflight", "owed+fail", "Replugging"},
    {"Preflight", "owed+cancel+ok", "Replugging"},
    {"Preflight", "deadline", "-"},
    {"Preflight", "arrived", "-"},
    {"Preflight", "tryNow", "-"},
    {"Reserving", "ok", "Preparing"},
    {"Reserving", "fail", "Refusing"},
    {"Reserving", "cancel+ok", "Refusing"},
    {"Reserving", "owed+fail", "Replugging"},
    {"Reserving", "owed+cancel+ok", "Replugging"},
    {"Reserving", "deadline", "-"},
    {"Reserving", "arrived", "-"},
    {"Reserving", "tryNow", "-"},
    {"Preparing", "ok", "Unplugging"},
    {"Preparing", "fail", "Unpreparing"},
    {"Preparing", "held", "Withdrawing"},
    {"Preparing", "nobody", "Withdrawing"},
    {"Preparing", "cancel+ok", "RestoringGuest"},
    {"Preparing", "owed+fail", "Replugging"},
    {"Preparing", "owed+held", "Replugging"},
    {"Preparing", "owed+cancel+ok", "Replugging"},
    {"Preparing", "deadline", "-"},
    {"Preparing", "arrived", "-"},
    {"Preparing", "tryNow", "-"},
    {"Unplugging", "ok", "TakingIdentity"},
    {"Unplugging", "fail", "UnplugStuck"},
    {"Unplugging", "refused", "Replugging"},
    {"Unplugging", "gone", "Replugging"},
    {"Unplugging", "deadline", "UnplugStuck"},
    {"Unplugging", "cancel+ok", "Replugging"},
    {"Unplugging", "arrived", "-"},
    {"Unplugging", "tryNow", "-"},
    {"UnplugStuck", "ok", "Replugging"},
    {"UnplugStuck", "fail", "-"},
    {"UnplugStuck", "gone", "Replugging"},
    {"UnplugStuck", "cancel+ok", "Replugging"},
    {"UnplugStuck", "deadline", "-"},
    {"UnplugStuck", "arrived", "-"},
    {"UnplugStuck", "tryNow", "-"},
    {"TakingIdentity", "ok", "AnnouncingRelease"},
    {"TakingIdentity", "fail", "Replugging"},
    {"TakingIdentity", "cancel+ok", "Replugging"},
    {"TakingIdentity", "deadline", "-"},
    {"TakingIdentity", "arrived", "-"},
    {"TakingIdentity", "tryNow", "-"},
    {"AnnouncingRelease", "ok", "Transferring"},
    {"AnnouncingRelease", "fail", "Recalling"},
    {"AnnouncingRelease", "cancel+ok", "Recalling"},
    {"AnnouncingRelease", "deadline", "-"},
    {"AnnouncingRelease", "arrived", "-"},
    {"AnnouncingRelease", "tryNow", "-"},
    {"AnnouncingRelease", "another+ok", "Prepared"},
    {"Prepared", "ok", "Transferring"},
    {"Prepared", "fail", "Recalling"},
    {"Prepared", "cancel", "Recalling"},
    {"Prepared", "deadline", "-"},
    {"Prepared", "arrived", "Handover"},
    {"Prepared", "tryNow", "-"},
    {"Recalling", "ok", "Replugging"},
    {"Recalling", "fail", "-"},
    {"Recalling", "deadline", "-"},
    {"Recalling", "arrived", "Handover"},
    {"Recalling", "tryNow", "-"},
    {"Transferring", "ok", "Handover"},
    {"Transferring", "fail", "Settling"},
    {"Transferring", "deadline", "-"},
    {"Transferring", "cancel+ok", "Handover"},
    {"Transferring", "cancel+fail", "Settling"},
    {"Transferring", "arrived", "Handover"},
    {"Transferring", "tryNow", "-"},
    {"Settling", "ok", "Recalling"},
    {"Settling", "fail", "-"},
    {"Settling", "deadline", "-"},
    {"Settling", "arrived", "Handover"},
    {"Settling", "tryNow", "-"},
    {"Handover", "ok", "Releasing"},
    {"Handover", "fail", "-"},
    {"Handover", "deadline", "-"},
    {"Handover", "arrived", "-"},
    {"Handover", "tryNow", "-"},
    {"Releasing", "ok", "Completed"},
    {"Releasing", "fail", "-"},
    {"Releasing", "deadline", "-"},
    {"Releasing", "arrived", "-"},
    {"Releasing", "tryNow", "-"},
    {"Unpreparing", "ok", "Withdrawing"},
    {"Unpreparing", "fail", "Withdrawing"},
    {"Unpreparing", "deadline", "-"},
    {"Unpreparing", "arrived", "-"},
    {"Unpreparing", "tryNow", "-"},
    {"Replugging", "ok", "RestoringGuest"},
    {"Replugging", "fail", "-"},
    {"Replugging", "deadline", "-"},
    {"Replugging", "arrived", "Handover"},
    {"Replugging", "tryNow", "-"},
    {"RestoringGuest", "ok", "Withdrawing"},
    {"RestoringGuest", "fail", "-"},
    {"RestoringGuest", "deadline", "-"},
    {"RestoringGuest", "arrived", "-"},
    {"RestoringGuest", "tryNow", "-"},
    {"Withdrawing", "ok", "RolledBack"},
    {"Withdrawing", "fail", "RolledBack"},
    {"Withdrawing", "deadline", "-"},
    {"Withdrawing", "arrived", "-"},
    {"Withdrawing", "tryNow", "-"},
    {"Refusing", "ok", "Refused"},
    {"Refusing", "fail", "Refused"},
    {"Refusing", "deadline", "-"},
    {"Refusing", "arrived", "-"},
    {"Refusing", "tryNow", "-"},
    {"Completed", "arrived", "-"},
    {"Completed", "tryNow", "-"},
    {"Refused", "arrived", "-"},
    {"Refused", "tryNow", "-"},
    {"RolledBack", "arrived", "-"},
    {"RolledBack", "tryNow", "-"},
};

inline Step worksOn(const std::string& phase) {
  static const std::map<std::string, Step> rest = {{"UnplugStuck", Step::kUnplug},
                                                   {"RestoringGuest", Step::kRestoreGuest},
                                                   {"Withdrawing", Step::kWithdraw}};
  const auto place = places().find(phase);
  return place != places().end() ? place->second.works_on : rest.at(phase);
}

/// A machine in the row's state, with its event sent.
inline std::unique_ptr<Departure> play(const Row& row) {
  const std::string text = row.event;
  const bool owed = text.starts_with("owed+");
  const bool another = text.starts_with("another+");
  // Recovered, since the ways to Settling are the same for both.
  auto departure =
      another && std::string(row.phase) == "Settling"
          ? std::make_unique<Departure>(DepartureTimes{{}, {}, Debt::kNone, Mover::kAnother})
          : at(row.phase, owed ? Debt::kInherited : Debt::kNone, another ? Mover::kAnother : Mover::kRdmove);
  if (departure->machine.phase() == "Boot") departure->machine.start(row.phase);
  std::string event = owed ? text.substr(5) : another ? text.substr(8) : text;
  if (event == "cancel") {
    EXPECT_TRUE(departure->machine.cancel());
  }
  if (event.starts_with("cancel+")) {
    EXPECT_TRUE(departure->machine.cancel());
    event = event.substr(7);
  }
  if (event == "ok") departure->ok(worksOn(row.phase));
  if (event == "fail") departure->fail(worksOn(row.phase));
  if (event == "held") departure->fail(worksOn(row.phase), kHeld);
  if (event == "refused") departure->fail(worksOn(row.phase), kRefused);
  if (event == "gone") departure->fail(worksOn(row.phase), kGone);
  if (event == "nobody") departure->fail(worksOn(row.phase), kNobody);
  if (event == "deadline") departure->deadline();
  if (event == "tryNow") departure->machine.process(TryNow());
  if (event == "arrived") departure->machine.process(DomainArrived());
  return departure;
}

/// Where a restarted daemon goes on from each journaled phase, and where with a debt, if elsewhere.
inline const std::map<std::string, std::vector<std::string>> kRecovered = {
    {"Preflight", {"Refusing", "Replugging"}},
    {"Reserving", {"Refusing", "Replugging"}},
    {"Refusing", {"Refusing", "Replugging"}},
    {"Preparing", {"RestoringGuest", "Replugging"}},
    {"RestoringGuest", {"RestoringGuest"}},
    {"Unplugging", {"Unplugging"}},
    {"UnplugStuck", {"UnplugStuck"}},
    {"TakingIdentity", {"TakingIdentity"}},
    {"AnnouncingRelease", {"AnnouncingRelease"}},
    {"Prepared", {"Prepared"}},
    {"Recalling", {"Recalling"}},
    {"Transferring", {"Transferring"}},
    {"Settling", {"Settling"}},
    {"Handover", {"Handover"}},
    {"Releasing", {"Releasing"}},
    {"Replugging", {"Replugging"}},
    {"Withdrawing", {"Withdrawing"}},
    {"Unpreparing", {"Unpreparing"}},
    {"a phase of a later version", {"Settling"}}};

}  // namespace rdmove::departure_table
