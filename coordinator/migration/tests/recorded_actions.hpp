// The world of a machine under test: writes down what the machine asks for, and answers when the test says
// so.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/migration/machine.hpp"

namespace rdmove {

template <class Step>
class RecordedActions : public MachineActions<Step> {
 public:
  void enter(const char* phase) override { entered.emplace_back(phase); }
  void leave(const char* phase, bool failed) override { left.emplace_back(phase, failed); }
  Attempt begin(Step step) override {
    begun.push_back(step);
    last_attempt = Attempt{static_cast<std::uint64_t>(begun.size())};
    attempts.push_back(last_attempt);
    return last_attempt;
  }
  TimerId arm(std::chrono::milliseconds after) override {
    const TimerId timer{++timers};
    armed.emplace_back(timer, after);
    return timer;
  }
  void disarm(TimerId timer) override {
    std::erase_if(armed, [timer](const auto& entry) { return entry.first == timer; });
  }
  void blame(const Error& error) override { blamed.push_back(error); }
  void degrade(const Error& error) override { degraded.push_back(error); }
  void conclude(Outcome result) override {
    EXPECT_FALSE(outcome) << "concluded twice";
    outcome = result;
  }
  void unconsumed(const char*, const char*) override { ++unconsumed_events; }

  /// The newest start of `step`; a test that asks for one that was never begun is wrong.
  Attempt attemptOf(Step step) const {
    for (std::size_t i = begun.size(); i-- > 0;) {
      if (begun[i] == step) return attempts[i];
    }
    ADD_FAILURE() << "the step was never begun";
    return Attempt{};
  }
  bool hasBegun(Step step) const { return std::find(begun.begin(), begun.end(), step) != begun.end(); }

  std::vector<std::string> entered;
  std::vector<std::pair<std::string, bool>> left;
  std::vector<Step> begun;
  std::vector<Attempt> attempts;
  std::vector<std::pair<TimerId, std::chrono::milliseconds>> armed;
  std::vector<Error> blamed;
  std::vector<Error> degraded;
  std::optional<Outcome> outcome;
  Attempt last_attempt{};
  std::uint64_t timers = 0;
  int unconsumed_events = 0;
};

}  // namespace rdmove
