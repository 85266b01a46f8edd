// What both machines share: their events, and the narrow view of the world that a state may ask things of.
// A machine is pure: events in, intents out. Entry actions only start work; its result comes back as an event
// that carries the attempt it answers. Loop thread only.
#pragma once

#include <boost/statechart/event.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/journal/journal.hpp"

namespace rdmove {

/// Which start of a piece of work a result answers; a late answer to an earlier start is dropped.
enum class Attempt : std::uint64_t {};
enum class TimerId : std::uint64_t {};

/// The session says that the step it was asked for is done.
template <class Step>
struct StepSucceeded : boost::statechart::event<StepSucceeded<Step>> {
  StepSucceeded(Step s, Attempt a) : step(s), attempt(a) {}
  Step step;
  Attempt attempt;
};

/// The session says that the step it was asked for failed, and that nothing of it goes on.
template <class Step>
struct StepFailed : boost::statechart::event<StepFailed<Step>> {
  StepFailed(Step s, Attempt a, Error e) : step(s), attempt(a), error(std::move(e)) {}
  Step step;
  Attempt attempt;
  Error error;
};

/// A timer that the machine armed has passed.
struct DeadlinePassed : boost::statechart::event<DeadlinePassed> {
  explicit DeadlinePassed(TimerId t) : timer(t) {}
  TimerId timer;
};

/// The world as a state sees it. Implemented by the session; a mock in the tests.
template <class Step>
class MachineActions {
 public:
  virtual ~MachineActions() = default;
  /// Journals the phase (write ahead). Phase names are persisted: do not rename.
  virtual void enter(const char* phase) = 0;
  /// The phase is left: its bar of the timeline ends here.
  virtual void leave(const char* phase, bool failed) = 0;
  /// Starts a step; answered by StepSucceeded or StepFailed, never from inside this call.
  virtual Attempt begin(Step step) = 0;
  virtual TimerId arm(std::chrono::milliseconds after) = 0;
  virtual void disarm(TimerId timer) = 0;
  /// The first cause of a bad end. Later ones are noted, the first is what the operator is told.
  virtual void blame(const Error& error) = 0;
  /// Not over, but not as it should be: said loudly, and retried.
  virtual void degrade(const Error& error) = 0;
  virtual void conclude(Outcome outcome) = 0;
  virtual void unconsumed(const char* state, const char* event) = 0;
};

/// Waits before a retry: 0.25 s doubling to 30 s.
inline std::chrono::milliseconds backoff(int tries) {
  constexpr int kMaxDoublings = 7;
  const int doublings = tries < kMaxDoublings ? tries : kMaxDoublings;
  return std::min(std::chrono::milliseconds(250) * (1 << doublings), std::chrono::milliseconds(30000));
}

}  // namespace rdmove
