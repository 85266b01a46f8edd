// The states of an arrival. Private to arrival.cpp and its test.
//
//   Boot              chooses by the journaled phase
//   Staging           VFs picked and leased                              -> Reserved | Refused
//   Reserved          waits for the source's word that the identity is free -> Awaiting | Unstaging
//   Awaiting          waits for the domain                               -> Incoming | Plugging | Unstaging
//   Incoming          QEMU takes the stream                              -> Plugging | Awaiting | Unstaging
//   Plugging          the domain runs here: attach (retried)             -> RestoringGuest
//   RestoringGuest    addresses, GIDs, applications (retried)            -> Verifying | Plugging
//   Verifying         both definitions are right (retried)               -> Freeing | Plugging
//   Freeing           the lease ends: the device belongs to the domain   -> Completed
//   Unstaging         the source rolled back, or nobody came             -> Withdrawn
//   Abandoning        the domain ended here before it was whole          -> Withdrawn
//   Completed, Refused, Withdrawn
#pragma once

#include <boost/mpl/list.hpp>
#include <boost/statechart/custom_reaction.hpp>
#include <boost/statechart/state.hpp>
#include <boost/statechart/state_machine.hpp>

#include "coordinator/migration/arrival.hpp"

namespace rdmove::arrival {

namespace sc = boost::statechart;
namespace mpl = boost::mpl;
using Step = ArrivalStep;

struct Boot;

class Machine : public sc::state_machine<Machine, Boot> {
 public:
  Machine(ArrivalActions& actions, std::chrono::milliseconds attach_budget)
      : actions_(actions), attach_budget_(attach_budget) {}
  ~Machine() { terminate(); }

  ArrivalActions& actions() { return actions_; }
  std::chrono::milliseconds attachBudget() const { return attach_budget_; }
  void unconsumed_event(const sc::event_base& event);

  const char* phase = "Boot";

 private:
  ArrivalActions& actions_;
  std::chrono::milliseconds attach_budget_;
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

/// Base of the states: journals the phase on entry, closes its bar on exit.
template <class Self>
class Phase : public sc::state<Self, Machine> {
 public:
  using Base = sc::state<Self, Machine>;
  explicit Phase(typename Base::my_context ctx) : Base(ctx) {
    world().enter(Self::kPhase);
    this->outermost_context().phase = Self::kPhase;
  }
  ~Phase() {
    if (timer_ != TimerId{}) world().disarm(timer_);
    world().leave(Self::kPhase, failed_);
  }

 protected:
  ArrivalActions& world() { return this->outermost_context().actions(); }
  void wait(std::chrono::milliseconds time) { timer_ = world().arm(time); }
  bool passed(const DeadlinePassed& event) {
    if (timer_ == TimerId{} || event.timer != timer_) return false;
    timer_ = TimerId{};
    return true;
  }
  bool failed_ = false;

 private:
  TimerId timer_{};
};

/// A phase that works on one step, and starts it again after a growing wait until it succeeds.
/// Degraded is said when the budget has passed, or at once when the budget is zero.
template <class Self, Step kStep>
class Working : public Phase<Self> {
 public:
  using reactions = mpl::list<sc::custom_reaction<ArrivalStepSucceeded>,
                              sc::custom_reaction<ArrivalStepFailed>, sc::custom_reaction<DeadlinePassed>,
                              sc::custom_reaction<DomainGone>, sc::custom_reaction<DeviceLost>>;
  explicit Working(typename Phase<Self>::my_context ctx) : Phase<Self>(ctx) { again(); }

  sc::result react(const ArrivalStepSucceeded& event) {
    if (event.step != kStep || event.attempt != attempt_) return this->discard_event();
    return self().done();
  }
  sc::result react(const ArrivalStepFailed& event) {
    if (event.step != kStep || event.attempt != attempt_) return this->discard_event();
    return self().failed(event.error);
  }
  sc::result react(const DeadlinePassed& event) {
    if (this->passed(event)) {
      this->failed_ = false;
      again();
    }
    return this->discard_event();
  }
  sc::result react(const DomainGone&) { return self().gone(); }
  sc::result react(const DeviceLost&) { return self().lost(); }

  sc::result failed(const Error& error) {
    this->failed_ = true;
    this->world().blame(error);
    waited_ += backoff(tries_);
    if (waited_ >= this->outermost_context().attachBudget()) this->world().degrade(error);
    this->wait(backoff(tries_++));
    return this->discard_event();
  }
  sc::result gone() { return this->discard_event(); }
  sc::result lost() { return this->discard_event(); }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
  void again() { attempt_ = this->world().begin(kStep); }

 private:
  Attempt attempt_{};
  int tries_ = 0;
  std::chrono::milliseconds waited_{0};
};

/// A withdrawal that comes while it works is remembered: the source may have lost patience with us.
struct Staging : Working<Staging, Step::kStage> {
  static constexpr const char* kPhase = "Staging";
  using reactions = mpl::list<sc::custom_reaction<ArrivalStepSucceeded>,
                              sc::custom_reaction<ArrivalStepFailed>, sc::custom_reaction<WithdrawRequested>>;
  using Working::react;
  using Working::Working;
  sc::result react(const WithdrawRequested&);
  sc::result done();
  sc::result failed(const Error& error);

 private:
  bool withdrawn_ = false;
};

/// A domain that resumes here without the source's word is not plugged: the identity may be live over there.
struct Reserved : Phase<Reserved> {
  static constexpr const char* kPhase = "Reserved";
  using reactions = mpl::list<sc::custom_reaction<IdentityReleased>, sc::custom_reaction<WithdrawRequested>,
                              sc::custom_reaction<LeaseExpired>, sc::custom_reaction<DomainResumed>>;
  explicit Reserved(my_context ctx) : Phase(ctx) {}
  sc::result react(const IdentityReleased&);
  sc::result react(const WithdrawRequested&);
  sc::result react(const LeaseExpired&);
  sc::result react(const DomainResumed&);
};

struct Awaiting : Phase<Awaiting> {
  static constexpr const char* kPhase = "Awaiting";
  using reactions = mpl::list<sc::custom_reaction<DomainIncoming>, sc::custom_reaction<DomainResumed>,
                              sc::custom_reaction<WithdrawRequested>, sc::custom_reaction<LeaseExpired>>;
  explicit Awaiting(my_context ctx);
  sc::result react(const DomainIncoming&);
  sc::result react(const DomainResumed&);
  sc::result react(const WithdrawRequested&);
  sc::result react(const LeaseExpired&);
};

struct Incoming : Phase<Incoming> {
  static constexpr const char* kPhase = "Incoming";
  using reactions = mpl::list<sc::custom_reaction<DomainResumed>, sc::custom_reaction<DomainGone>,
                              sc::custom_reaction<WithdrawRequested>>;
  explicit Incoming(my_context ctx);
  sc::result react(const DomainResumed&);
  sc::result react(const DomainGone&);
  sc::result react(const WithdrawRequested&);
};

struct Plugging : Working<Plugging, Step::kPlug> {
  static constexpr const char* kPhase = "Plugging";
  using Working::Working;
  sc::result done();
  sc::result gone();
};

struct RestoringGuest : Working<RestoringGuest, Step::kRestoreGuest> {
  static constexpr const char* kPhase = "RestoringGuest";
  using Working::Working;
  sc::result done();
  sc::result gone();
  sc::result lost();
};

struct Verifying : Working<Verifying, Step::kVerify> {
  static constexpr const char* kPhase = "Verifying";
  using Working::Working;
  sc::result done();
  sc::result gone();
  sc::result lost();
};

struct Freeing : Working<Freeing, Step::kUnstage> {
  static constexpr const char* kPhase = "Freeing";
  using Working::Working;
  sc::result done();
};

struct Unstaging : Working<Unstaging, Step::kUnstage> {
  static constexpr const char* kPhase = "Unstaging";
  using Working::Working;
  sc::result done();
};

struct Abandoning : Working<Abandoning, Step::kUnstage> {
  static constexpr const char* kPhase = "Abandoning";
  explicit Abandoning(my_context ctx);
  sc::result done();
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
struct Withdrawn : End<Withdrawn, Outcome::kWithdrawn> {
  static constexpr const char* kPhase = "Withdrawn";
  using End::End;
};

}  // namespace rdmove::arrival
