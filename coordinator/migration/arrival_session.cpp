#include "coordinator/migration/arrival_session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/traffic.hpp"

namespace rdmove {

ArrivalSession::ArrivalSession(Services& services, MigrationRecord record, Plan plan,
                               std::chrono::milliseconds hold)
    : Session(services, std::move(record)),
      plan_(std::move(plan)),
      fabric_watch_(services.subnets),
      hold_(hold),
      machine_(*this, services.config.timeouts.attach_budget) {}

ArrivalSession::~ArrivalSession() {
  closing_ = true;
}

void ArrivalSession::reserve(Reserved reserved) {
  reserved_ = std::move(reserved);
  machine_.start("");
}

void ArrivalSession::adopt(Reserved reserved) {
  adopted_ = true;
  if (auto kept = services_.journal.setFact(record_.id, record_.role, kAdopted, "yes"); !kept)
    note(kept.error().sentence());
  reserve([this, weak = weak_from_this(), reserved = std::move(reserved)](Result<std::vector<LeasedVf>> leases) {
    const auto self = weak.lock();
    if (!self) return;
    if (leases) {
      if (auto taken = sourceIsDead(); !taken) leases = tl::unexpected(taken.error());
    }
    reserved(std::move(leases));
  });
}

Result<void> ArrivalSession::sourceIsDead() {
  note("the operator said: the source is dead, and the identity live on none of its devices");
  return identityReleased({});
}

void ArrivalSession::recover(const std::string& phase, const std::vector<FactRecord>& facts) {
  bool released = false;
  look_at_drivers_ = true;
  for (const FactRecord& fact : facts) {
    if (fact.name == "released") released = true;
    if (blameOf(fact.name)) blame_ = fact.value;
    if (fact.name == kAdopted) adopted_ = true;
    if (fact.name == kCameInBoot) came_in_boot_ = fact.value;
    if (fact.name == kFabricBefore) fabric_watch_.recall(fact.value);
    if (fact.name == kTrafficRestored) traffic_restored_ = trafficFromJson(fact.value);
    if (fact.name == kTrafficAfter) traffic_after_ = trafficFromJson(fact.value);
    if (fact.name != "leases") continue;
    if (auto leases = leasesFromJson(fact.value)) leases_ = std::move(*leases);
  }
  note("the daemon was started anew; going on from " + phase);
  armHold();
  machine_.start(phase == "Reserved" && released ? "Awaiting" : phase);
  watched_ = false;
  // A domain that ended while nobody listened is not waited for.
  if (machine_.arrived()) observe();
}

Result<void> ArrivalSession::identityReleased(const Traffic& before) {
  if (machine_.ended() || machine_.phase() == "Unstaging") {
    return failure(ErrorCode::kRefused, "take the word for the identity",
                   "the reservation is over (" + machine_.phase() + ")", "Start the migration again.");
  }
  keepTraffic(kTrafficBefore, before);
  if (auto written = services_.journal.setFact(record_.id, record_.role, "released", "yes"); !written)
    return written;
  machine_.process(IdentityReleased());
  return {};
}

void ArrivalSession::withdraw(bool source_runs, std::function<void(Result<WithdrawAnswer>)> done) {
  if (source_runs) {
    if (machine_.arrived()) return done(WithdrawAnswer{true, machine_.phase()});
    machine_.process(WithdrawRequested());
    return done(WithdrawAnswer{false, machine_.phase()});
  }
  if (const auto wait = untilShown(); wait.count() > 0) {
    answers_later_.push_back(services_.timers.after(wait, [this, weak = weak_from_this(), done] {
      if (const auto self = weak.lock()) withdraw(false, done);
    }));
    return;
  }
  offload<WithdrawAnswer>([this, uuid = plan_.uuid] { return runsHere(services_.hypervisor, uuid); },
                          [this, done](Result<WithdrawAnswer> ran) {
                            if (ran) ran->ran_there = ArrivalMachine::arrivedIn(record_.phase);
                            if (ran) ran->may_have_run = mayHaveRun();
                            if (ran && !ran->running_there) machine_.process(WithdrawRequested());
                            done(ran);
                          });
}

void ArrivalSession::supersede() {
  superseded_ = true;
  if (hold_timer_ != TimerId{}) disarmTimer(hold_timer_);
  agent_.reset();
  record_.outcome = Outcome::kSuperseded;
  publish("the VM moves on");
}

/// It came in, and is not seen to run: whoever says that it never did must have watched it fail.
bool ArrivalSession::mayHaveRun() const {
  return endUnseen(came_in_boot_, services_.clock) || (record_.phase == "Incoming" && !watched_);
}

void ArrivalSession::keepBoot(const std::string& boot) {
  came_in_boot_ = boot;
  if (auto kept = services_.journal.setFact(record_.id, record_.role, kCameInBoot, boot); !kept)
    spdlog::error("migration={} journal: {}", record_.id.str(), kept.error().sentence());
}

void ArrivalSession::enter(const char* phase) {
  enterPhase(phase);
  if (std::string_view(phase) == "Incoming") {
    watched_ = true;
    if (came_in_boot_.empty()) keepBoot(services_.clock.bootId());
  }
  if (std::string_view(phase) == "Awaiting" && came_in_boot_ == services_.clock.bootId())
    keepBoot(watched_ ? "" : kUnseen);
  // Back from Incoming, whose lease did not run: now it does again.
  if (std::string_view(phase) == "Awaiting" && hold_timer_ == TimerId{}) armHold();
}

void ArrivalSession::armHold() {
  if (hold_timer_ != TimerId{}) disarmTimer(hold_timer_);
  hold_timer_ = armTimer(hold_);
}

void ArrivalSession::renew() {
  if (machine_.ended() || machine_.arrived()) return;
  const auto now = services_.clock.now().boot;
  if (now - renewed_at_ < hold_ / 3) return;
  renewed_at_ = now;
  const auto until = now + hold_;
  if (auto renewed = services_.journal.renewLeases(record_.id, until.count()); !renewed) return;
  armHold();
}

Result<void> ArrivalSession::admit() {
  const std::string phase = machine_.phase();
  if (phase == "Awaiting" || phase == "Incoming") {
    admitted_at_ = services_.clock.now().boot;
    note("libvirt's hook asked; it may come in");
    return {};
  }
  return failure(ErrorCode::kRefused, "",
                 plan_.domain + " cannot come in: its migration " + record_.id.str() + " from " +
                     plan_.source.str() + " is in " + phase,
                 "See 'rdmove show " + record_.id.str() + "'.");
}

/// Between the hook's question and the moment when libvirt shows the domain nobody can say whether it comes.
std::chrono::milliseconds ArrivalSession::untilShown() const {
  constexpr std::chrono::milliseconds kShownWithin{2000};
  if (!admitted_at_ || machine_.phase() != "Awaiting") return std::chrono::milliseconds(0);
  const auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(services_.clock.now().boot - *admitted_at_);
  return std::max(kShownWithin - since, std::chrono::milliseconds(0));
}

ArrivalReport ArrivalSession::report() {
  ArrivalReport report;
  report.phase = machine_.phase();
  report.outcome = record_.outcome;
  report.error = record_.error;
  report.arrived = machine_.arrived();
  report.traffic_after = traffic_after_;
  if (auto steps = services_.journal.steps(record_.id, record_.role)) report.steps = std::move(*steps);
  return report;
}

void ArrivalSession::leave(const char* phase, bool failed) {
  if (!closing_ && !superseded_) leavePhase(phase, failed);
}

void ArrivalSession::conclude(Outcome outcome) {
  finish(outcome, plan_.domain + " has arrived and is whole.");
  if (reserved_) {  // refused before anything was promised
    auto reserved = std::move(reserved_);
    reserved_ = nullptr;
    reserved(failure(ErrorCode::kExhausted, "", blame_, ""));
  }
  later([this] {
    if (hold_timer_ != TimerId{}) disarmTimer(hold_timer_);
    agent_.reset();
  });
}

void ArrivalSession::unconsumed(const char* state, const char*) {
  spdlog::debug("migration={} phase={} an event had nothing to do here", record_.id.str(), state);
}

void ArrivalSession::timerPassed(TimerId timer) {
  if (superseded_) return;
  if (timer == hold_timer_) {
    hold_timer_ = TimerId{};
    note("the lease has ended: the source did not renew it");
    machine_.process(LeaseExpired());
  } else {
    machine_.process(DeadlinePassed(timer));
  }
}

Attempt ArrivalSession::begin(Step step) {
  const Attempt attempt{++last_attempt_};
  if (superseded_) return attempt;
  const bool changes_nothing = step == Step::kObserve || step == Step::kUnstage;
  if (!intentJournaled() && !machine_.arrived() && !changes_nothing) {
    later([this, step, attempt] { answer(step, attempt, tl::unexpected(unjournaled())); });
    return attempt;
  }
  switch (step) {
    case Step::kStage:
      stage(attempt);
      break;
    case Step::kObserve:
      observe();
      break;
    case Step::kPlug:
      plug(attempt);
      break;
    case Step::kRestoreGuest:
      restoreGuest(attempt);
      break;
    case Step::kVerify:
      verify(attempt);
      break;
    case Step::kUnstage:
      unstage(attempt);
      break;
  }
  return attempt;
}

void ArrivalSession::answer(Step step, Attempt attempt, Result<void> result) {
  if (superseded_) return;
  if (result) {
    machine_.process(ArrivalStepSucceeded(step, attempt));
  } else {
    machine_.process(ArrivalStepFailed(step, attempt, result.error()));
  }
}

void ArrivalSession::onLifecycle(Lifecycle event, LifecycleDetail detail) {
  if (superseded_) return;
  switch (event) {
    case Lifecycle::kStarted:
      if (detail == LifecycleDetail::kMigrated) {
        if (auto kept = services_.journal.makePermanent(record_.id); !kept) {
          spdlog::error("migration={} journal: {}", record_.id.str(), kept.error().sentence());
        }
        admitted_at_.reset();
        machine_.process(DomainIncoming());
      }
      break;
    case Lifecycle::kResumed:
      // With post-copy the first RESUMED says postcopy; an attach before the memory is whole waits for the
      // job lock.
      if (detail == LifecycleDetail::kMigrated) machine_.process(DomainResumed());
      break;
    case Lifecycle::kStopped:
    case Lifecycle::kCrashed:
      machine_.process(DomainGone());
      break;
    default:
      break;
  }
}

/// After the attach nobody but us has a reason to take it out; who does is undone. A later one is the
/// operator's own affair.
void ArrivalSession::onDeviceRemoved(const DeviceAlias& alias) {
  const bool ours = std::any_of(leases_.begin(), leases_.end(),
                                [&](const LeasedVf& lease) { return lease.alias == alias; });
  const std::string phase = machine_.phase();
  if (superseded_ || !ours || (phase != "RestoringGuest" && phase != "Verifying")) return;
  note(alias.str() + " has left the VM again: it is attached once more");
  machine_.process(DeviceLost());
}

void ArrivalSession::onReconnected() {
  watched_ = false;  // what happened meanwhile made no event
  observe();
}

/// Events are hints: after a restart, a reconnect, or on entering a waiting state the domain itself is looked
/// at, and again while what is seen may pass without an event.
void ArrivalSession::observe() {
  offload<DomainStatus>(
      [this, uuid = plan_.uuid]() -> Result<DomainStatus> {
        auto status = services_.hypervisor.find(uuid.str());
        if (!status && status.error().code == ErrorCode::kNotFound) return DomainStatus{};
        return status;
      },
      [this, asked_in = machine_.phase()](Result<DomainStatus> status) {
        if (machine_.ended() || superseded_ || machine_.phase() != asked_in)
          return;  // older than what we know
        const bool waiting = asked_in == "Awaiting" || asked_in == "Incoming";
        if (!status) return waiting ? observeAgain() : void();
        if (status->state == DomainState::kAbsent || status->state == DomainState::kShutOff) {
          if (asked_in != "Awaiting") machine_.process(DomainGone());
        } else if (status->state == DomainState::kRunning && !status->migration_job) {
          machine_.process(DomainResumed());
        } else if (status->state == DomainState::kRunning) {
          if (waiting)
            observeAgain();  // resumed, and libvirt's job is just ending: no event may come any more
        } else if (asked_in == "Awaiting") {
          machine_.process(DomainIncoming());
        } else if (asked_in == "Incoming") {
          watched_ = true;
        }
      });
}

void ArrivalSession::observeAgain() {
  constexpr std::chrono::milliseconds kLookAgain{1000};
  if (observing_again_) return;
  observing_again_ = true;
  look_again_ = services_.timers.after(kLookAgain, [this, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    observing_again_ = false;
    observe();
  });
}

Result<WithdrawAnswer> runsHere(Hypervisor& hypervisor, const DomainUuid& uuid) {
  const auto status = hypervisor.find(uuid.str());
  if (!status) {
    if (status.error().code == ErrorCode::kNotFound) return WithdrawAnswer{false, "absent"};
    return tl::unexpected(status.error());
  }
  if (status->state == DomainState::kAbsent || status->state == DomainState::kShutOff) {
    return WithdrawAnswer{false, status->state_text};
  }
  if (status->state == DomainState::kRunning || !status->migration_job)
    return WithdrawAnswer{true, status->state_text};
  return failure(ErrorCode::kUnavailable, "say who runs " + status->name,
                 "it is still coming in here (" + status->state_text + ")");
}

}  // namespace rdmove
