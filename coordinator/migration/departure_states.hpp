// The states of a departure. Private to departure.cpp and its test.
//
//   Boot                     chooses by the journaled phase
//   Preflight                plan, or the reasons why not                     -> Reserving | Refusing
//   Reserving                a lease at the partner                           -> Preparing | Refusing
//   Preparing                the guest lets go                                -> Unplugging | RestoringGuest
//                                                                                | Unpreparing
//   Unplugging               the device leaves                                -> TakingIdentity | Replugging
//                                                                                | UnplugStuck
//   UnplugStuck              asked and not gone: Degraded, waits              -> Replugging
//   TakingIdentity           off the source's VF, read back                   -> AnnouncingRelease | Replugging
//   AnnouncingRelease        the partner knows, durably                       -> Transferring | Prepared
//                                                                                | Recalling
//   Prepared                 another mover's migration is waited for          -> Transferring | Recalling | Handover
//   Recalling                the partner lets none in any more                -> Replugging | Handover (retried)
//   Transferring             libvirt's migration                              -> Handover | Settling
//   Settling                 it failed: who runs the domain?                  -> Recalling | Handover (retried)
//   Handover                 past the point of no return: the arrival's turn  -> Releasing
//   Releasing                the VFs that were left go to their pool          -> Completed
//   Unpreparing              rollback: prepare was not answered, nothing left       -> Withdrawing
//   Replugging               rollback: the VF is attached again               -> RestoringGuest | Handover (retried)
//   RestoringGuest           rollback: the guest's addresses are back         -> Withdrawing (retried)
//   Withdrawing              rollback: the partner's lease is freed           -> RolledBack
//   Refusing                 nothing was changed; a lease, if any, is freed   -> Refused
//   Completed, Refused, RolledBack
#pragma once

#include <boost/mpl/list.hpp>
#include <boost/statechart/custom_reaction.hpp>
#include <boost/statechart/state.hpp>
#include <boost/statechart/state_machine.hpp>
#include <utility>

#include "coordinator/migration/departure.hpp"

namespace rdmove::departure {

namespace sc = boost::statechart;
namespace mpl = boost::mpl;
using Step = DepartureStep;

struct Boot;
struct Preflight;

class Machine : public sc::state_machine<Machine, Boot> {
 public:
  Machine(DepartureActions& actions, DepartureTimes times) : actions_(actions), times_(times) {}
  ~Machine() { terminate(); }

  DepartureActions& actions() { return actions_; }
  const DepartureTimes& times() const { return times_; }
  void unconsumed_event(const sc::event_base& event);

  const char* phase = "Boot";
  bool cancel_taken = false;  ///< answer of the last CancelRequested; written by the state that reacts to it

 private:
  DepartureActions& actions_;
  DepartureTimes times_;
};

/// Reaction table of a state that works on one step.
using WorkReactions = mpl::list<sc::custom_reaction<DepartureStepSucceeded>,
                                sc::custom_reaction<DepartureStepFailed>, sc::custom_reaction<DeadlinePassed>,
                                sc::custom_reaction<CancelRequested>, sc::custom_reaction<DomainArrived>,
                                sc::custom_reaction<TryNow>>;

/// Base of all states: journals the phase on entry, starts the step, and sorts its answers from late ones.
/// A state overrides what it cares for; what it does not is dropped.
template <class Self, Step kStep>
class Work : public sc::state<Self, Machine> {
 public:
  using Base = sc::state<Self, Machine>;
  using reactions = WorkReactions;

  explicit Work(typename Base::my_context ctx) : Base(ctx) {
    world().enter(Self::kPhase);
    this->outermost_context().phase = Self::kPhase;
    again();
  }
  ~Work() {
    if (timer_ != TimerId{}) world().disarm(timer_);
    world().leave(Self::kPhase, failed_);
  }

  sc::result react(const DepartureStepSucceeded& event) {
    if (event.step != kStep || event.attempt != attempt_) return this->discard_event();
    return self().done();
  }
  sc::result react(const DepartureStepFailed& event) {
    if (event.step != kStep || event.attempt != attempt_) return this->discard_event();
    failed_ = true;
    return self().failed(event.error);
  }
  sc::result react(const DeadlinePassed& event) {
    if (timer_ == TimerId{} || event.timer != timer_) return this->discard_event();
    timer_ = TimerId{};
    return self().late();
  }
  sc::result react(const CancelRequested&) { return self().cancelled(); }
  sc::result react(const DomainArrived&) { return self().arrived(); }
  sc::result react(const TryNow&) { return self().tryNow(); }

 protected:
  DepartureActions& world() { return this->outermost_context().actions(); }
  const DepartureTimes& times() { return this->outermost_context().times(); }
  Self& self() { return static_cast<Self&>(*this); }
  void again() { attempt_ = world().begin(kStep); }
  void wait(std::chrono::milliseconds time) { timer_ = world().arm(time); }
  bool waiting() const { return timer_ != TimerId{}; }
  void stopWaiting() { world().disarm(std::exchange(timer_, TimerId{})); }
  void takeCancel() {
    this->outermost_context().cancel_taken = true;
    world().blame(Error{ErrorCode::kCancelled, "finish the migration", "it was cancelled", ""});
  }
  /// The step that runs is let end, so that what it did is known; then the state goes back instead of on.
  sc::result holdCancel() {
    cancel_held_ = true;
    takeCancel();
    return this->discard_event();
  }
  bool cancelHeld() const { return cancel_held_; }

  // What a state does when it says nothing of its own.
  sc::result late() { return this->discard_event(); }
  sc::result cancelled() { return this->discard_event(); }
  sc::result arrived() { return this->discard_event(); }
  sc::result tryNow() { return this->discard_event(); }

  bool failed_ = false;

 private:
  bool cancel_held_ = false;
  Attempt attempt_{};
  TimerId timer_{};
};

/// A step that must succeed in the end: started again after a growing wait, Degraded when ten seconds have
/// gone by.
template <class Self, Step kStep>
class Retried : public Work<Self, kStep> {
 public:
  using Work<Self, kStep>::Work;
  sc::result failed(const Error& error) {
    constexpr std::chrono::milliseconds kPatience{10000};
    if (std::exchange(at_once_, false)) return static_cast<Self*>(this)->late();
    const auto pause = backoff(tries_++);
    waited_ += pause;
    if (waited_ >= kPatience) this->world().degrade(error);
    this->wait(pause);
    return this->discard_event();
  }
  sc::result late() {
    this->failed_ = false;
    this->again();
    return this->discard_event();
  }
  /// Never beside a try that runs: two of them would undo one another's work.
  sc::result tryNow() {
    at_once_ = !this->waiting();
    if (at_once_) return this->discard_event();
    this->stopWaiting();
    return static_cast<Self*>(this)->late();
  }

 private:
  int tries_ = 0;
  bool at_once_ = false;  ///< the operator spoke while a try ran that may not have heard it
  std::chrono::milliseconds waited_{0};
};

struct Recover : sc::event<Recover> {
  explicit Recover(std::string p) : phase(std::move(p)) {}
  std::string phase;
};

struct Boot : sc::state<Boot, Machine> {
  using reactions = sc::custom_reaction<Recover>;
  explicit Boot(my_context ctx) : my_base(ctx) {}
  sc::result react(const Recover& event);
};

struct Preflight : Work<Preflight, Step::kExamine> {
  static constexpr const char* kPhase = "Preflight";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled() { return holdCancel(); }

 private:
  sc::result back();
};

struct Reserving : Work<Reserving, Step::kReserve> {
  static constexpr const char* kPhase = "Reserving";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled() { return holdCancel(); }

 private:
  sc::result back();
};

struct Preparing : Work<Preparing, Step::kPrepareGuest> {
  static constexpr const char* kPhase = "Preparing";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled() { return holdCancel(); }
};

struct Unplugging : Work<Unplugging, Step::kUnplug> {
  static constexpr const char* kPhase = "Unplugging";
  explicit Unplugging(my_context ctx);
  sc::result done();
  sc::result failed(const Error& error);
  sc::result late();
  sc::result cancelled() { return holdCancel(); }
};

/// From here the only way is back: once asked, nothing takes an unplug back, so it is waited for.
struct UnplugStuck : Retried<UnplugStuck, Step::kUnplug> {
  static constexpr const char* kPhase = "UnplugStuck";
  explicit UnplugStuck(my_context ctx);
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled() { return holdCancel(); }
};

struct TakingIdentity : Work<TakingIdentity, Step::kTakeIdentity> {
  static constexpr const char* kPhase = "TakingIdentity";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled() { return holdCancel(); }
};

struct AnnouncingRelease : Work<AnnouncingRelease, Step::kAnnounceRelease> {
  static constexpr const char* kPhase = "AnnouncingRelease";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled() { return holdCancel(); }

 private:
  sc::result back();
};

/// Another mover's turn. From its first sign on the migration is looked at as one that a restarted daemon
/// finds.
struct Prepared : Work<Prepared, Step::kAwaitMover> {
  static constexpr const char* kPhase = "Prepared";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result cancelled();
  sc::result arrived();
};

/// Before the device comes back here the other host has to refuse the VM, or both could go on.
struct Recalling : Retried<Recalling, Step::kRecall> {
  static constexpr const char* kPhase = "Recalling";
  using Retried::Retried;
  sc::result done();
  sc::result arrived();
};

/// A cancel or the time limit asks libvirt to abort; how the job then ends decides, never our wish.
struct Transferring : Work<Transferring, Step::kTransfer> {
  static constexpr const char* kPhase = "Transferring";
  explicit Transferring(my_context ctx);
  sc::result done();
  sc::result failed(const Error& error);
  sc::result late();
  sc::result cancelled();
  sc::result arrived();
};

/// Retried until somebody can say it: until then nothing is plugged anywhere.
struct Settling : Retried<Settling, Step::kSettle> {
  static constexpr const char* kPhase = "Settling";
  using Retried::Retried;
  sc::result done();
  sc::result failed(const Error& error);
  sc::result arrived();
};

struct Handover : Retried<Handover, Step::kAwaitArrival> {
  static constexpr const char* kPhase = "Handover";
  using Retried::Retried;
  sc::result done();
};

struct Releasing : Retried<Releasing, Step::kReturnVf> {
  static constexpr const char* kPhase = "Releasing";
  using Retried::Retried;
  sc::result done();
};

/// The agent did not answer to prepare, and nothing was unplugged: one try to have it take things up again.
/// It ends RolledBack either way, since the VM has its device; the error says if the guest could not be
/// asked.
struct Unpreparing : Work<Unpreparing, Step::kRestoreGuest> {
  static constexpr const char* kPhase = "Unpreparing";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
};

/// A partner that was silent may have let the VM in after all.
struct Replugging : Retried<Replugging, Step::kReplug> {
  static constexpr const char* kPhase = "Replugging";
  using Retried::Retried;
  sc::result done();
  sc::result arrived();
};

struct RestoringGuest : Retried<RestoringGuest, Step::kRestoreGuest> {
  static constexpr const char* kPhase = "RestoringGuest";
  using Retried::Retried;
  sc::result done();
};

/// The lease at the partner ends by time as well, so a silent partner does not keep the rollback open.
struct Withdrawing : Work<Withdrawing, Step::kWithdraw> {
  static constexpr const char* kPhase = "Withdrawing";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
};

struct Refusing : Work<Refusing, Step::kWithdraw> {
  static constexpr const char* kPhase = "Refusing";
  using Work::Work;
  sc::result done();
  sc::result failed(const Error& error);
};

template <class Self, Outcome kOutcome>
struct End : sc::state<Self, Machine> {
  explicit End(typename sc::state<Self, Machine>::my_context ctx) : sc::state<Self, Machine>(ctx) {
    this->outermost_context().phase = Self::kPhase;
    this->outermost_context().actions().conclude(kOutcome);
  }
};
struct Completed : End<Completed, Outcome::kCompleted> {
  static constexpr const char* kPhase = "Completed";
  using End::End;
};
struct Refused : End<Refused, Outcome::kRefused> {
  static constexpr const char* kPhase = "Refused";
  using End::End;
};
struct RolledBack : End<RolledBack, Outcome::kRolledBack> {
  static constexpr const char* kPhase = "RolledBack";
  using End::End;
};

}  // namespace rdmove::departure
