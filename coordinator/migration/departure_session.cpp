#include "coordinator/migration/departure_session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/traffic.hpp"

namespace rdmove {

DepartureSession::DepartureSession(Services& services, Examiner& examiner, MigrationRecord record,
                                   Plan request, Debt debt)
    : Session(services, std::move(record)),
      examiner_(examiner),
      plan_(std::move(request)),
      debt_(debt),
      machine_(*this,
               DepartureTimes{services.config.timeouts.unplug, plan_.options.timeout, debt, plan_.mover}) {}

DepartureSession::~DepartureSession() {
  closing_ = true;
}

void DepartureSession::start(const std::string& phase, const std::vector<FactRecord>& facts) {
  bool cancelled = false;
  for (const FactRecord& fact : facts) {
    if (fact.name == "leases") {
      if (auto leases = leasesFromJson(fact.value)) leases_ = std::move(*leases);
    } else if (fact.name.rfind("source-vf:", 0) == 0) {
      source_vfs_[DeviceAlias(fact.name.substr(10))] = VfName(fact.value);
    } else if (fact.name == "transfer-started") {
      transfer_started_ = true;
    } else if (fact.name == "switched") {
      switched_ = fact.value == "yes";
    } else if (fact.name == "held-until") {
      recallHold(fact.value);
    } else if (fact.name == "canceled-before") {
      canceled_before_ = true;
    } else if (fact.name == kTrafficBefore) {
      traffic_before_ = trafficFromJson(fact.value);
    } else if (blameOf(fact.name)) {
      blame_ = fact.value;
    } else if (fact.name == "cancelled") {
      cancelled = true;
    } else if (fact.name == kOperatorWord) {
      word_ = parseOperatorWord(fact.value);
    }
  }
  // Past the point of no return, whatever the journal had no time to keep.
  if (phase == "Handover" || phase == "Releasing") switched_ = true;
  // The arrival that owed them has just lost its lease of them.
  if (!source_vfs_.empty() && debt_ == Debt::kInherited) {
    if (auto held = holdSourceVfs(); !held) note(held.error().sentence());
  }
  if (!phase.empty()) {
    note("the daemon was started anew; going on from " + phase);
    if (phase == "Preflight" || phase == "Reserving" || phase == "Preparing") {
      keepBlame(Error{ErrorCode::kCancelled, "finish the migration", "the daemon was restarted in " + phase,
                      "Start it again."});
    }
    if (!leases_.empty()) follow();
  }
  // Held from here on, so that preflight and prepare talk over one opening of the port.
  if (!plan_.uuid.empty() && !transfer_started_) agent();
  // The call to libvirt was not made, and the partner may have waited too long meanwhile: its word is asked for again.
  machine_.start(phase == "Transferring" && !transfer_started_ ? "AnnouncingRelease" : phase);
  if (cancelled) machine_.cancel();
}

bool DepartureSession::cancel() {
  if (!machine_.cancel()) return false;
  remember("cancelled", "yes");
  return true;
}

Result<void> DepartureSession::take(OperatorWord word) {
  const auto choices = predicamentOf(record_).choices;
  const bool fits =
      std::any_of(choices.begin(), choices.end(), [&](const Choice& choice) { return choice.word == word; });
  if (!fits) {
    return failure(ErrorCode::kRefused, "take the word " + std::string(toString(word)),
                   "it decides nothing in " + record_.phase,
                   "See rdmove resolve " + record_.id.str() + " for what does.");
  }
  if (auto kept = services_.journal.setFact(record_.id, record_.role, kOperatorWord, toString(word)); !kept)
    return kept;
  word_ = word;
  note("the operator said: " + std::string(toString(word)));
  if (arrival_attempt_) later([this] { checkArrival(); });
  machine_.process(TryNow());
  return {};
}

void DepartureSession::leave(const char* phase, bool failed) {
  if (!closing_) leavePhase(phase, failed);
}

void DepartureSession::conclude(Outcome outcome) {
  std::string aliases;
  for (const MovingVf& vf : plan_.vfs) aliases += (aliases.empty() ? "" : ", ") + vf.declaration.alias.str();
  const std::string whole =
      plan_.domain + " runs on " + plan_.destination.str() + "; " + aliases + " is back.";
  finish(outcome, ended_there_.empty()
                      ? whole
                      : plan_.domain + " moved to " + plan_.destination.str() + "; " + ended_there_);
  // Off the machine's own stack: links and streams may call back while they close.
  later([this] {
    following_.reset();
    follow_again_.reset();
    progress_timer_.reset();
    mover_timer_.reset();
    agent_.reset();
  });
}

void DepartureSession::unconsumed(const char* state, const char*) {
  spdlog::debug("migration={} phase={} an event had nothing to do here", record_.id.str(), state);
}

void DepartureSession::timerPassed(TimerId timer) {
  machine_.process(DeadlinePassed(timer));
}

Attempt DepartureSession::begin(Step step) {
  const Attempt attempt{++last_attempt_};
  const bool changes_nothing = step == Step::kNameHoldouts;
  if (!intentJournaled() && !(report_ && report_->arrived) && !changes_nothing) {
    // Write ahead: what could not be journaled is not done. Past the switch observation has to serve instead.
    later([this, step, attempt] { answer(step, attempt, tl::unexpected(unjournaled())); });
    return attempt;
  }
  switch (step) {
    case Step::kExamine:
      examine(attempt);
      break;
    case Step::kReserve:
      reserve(attempt);
      break;
    case Step::kPrepareGuest:
      prepareGuest(attempt);
      break;
    case Step::kUnplug:
      unplug(attempt);
      break;
    case Step::kTakeIdentity:
      takeIdentity(attempt);
      break;
    case Step::kAnnounceRelease:
      announceRelease(attempt);
      break;
    case Step::kAwaitMover:
      awaitMover(attempt);
      break;
    case Step::kRecall:
      recall(attempt);
      break;
    case Step::kTransfer:
      transfer(attempt);
      break;
    case Step::kAbortTransfer:
      abortTransfer();
      break;
    case Step::kSettle:
      settle(step, attempt);
      break;
    case Step::kAwaitArrival:
      awaitArrival(attempt);
      break;
    case Step::kReturnVf:
      returnVf(attempt);
      break;
    case Step::kNameHoldouts:
      nameHoldouts();
      break;
    case Step::kReplug:
      replug(attempt);
      break;
    case Step::kRestoreGuest:
      restoreGuest(attempt);
      break;
    case Step::kWithdraw:
      withdraw(attempt);
      break;
  }
  return attempt;
}

void DepartureSession::answer(Step step, Attempt attempt, Result<void> result) {
  if (result) {
    machine_.process(DepartureStepSucceeded(step, attempt));
  } else {
    machine_.process(DepartureStepFailed(step, attempt, result.error()));
  }
}

void DepartureSession::inWorker(Step step, Attempt attempt, std::function<Result<void>()> work) {
  offload<void>(std::move(work),
                [this, step, attempt](Result<void> result) { answer(step, attempt, result); });
}

void DepartureSession::remember(const std::string& name, const std::string& value) {
  if (const auto written = services_.journal.setFact(record_.id, record_.role, name, value); !written) {
    spdlog::error("migration={} journal: {}", record_.id.str(), written.error().sentence());
  }
}

std::shared_ptr<AgentLink> DepartureSession::agent() {
  if (!agent_) agent_ = services_.agents.link(plan_.uuid);
  return agent_;
}

const PartnerConfig& DepartureSession::partnerConfig() const {
  return services_.config.partners.at(plan_.destination);
}

void DepartureSession::onLifecycle(Lifecycle event, LifecycleDetail detail) {
  const bool transferring = (transfer_started_ || announced_) && !transfer_over_;
  // Another mover may begin as the way back is made: what it switches is not ours to plug into.
  const bool switches = transferring || (announced_ && record_.phase == "Replugging");
  if (event == Lifecycle::kSuspended && switches &&
      (detail == LifecycleDetail::kMigrated || detail == LifecycleDetail::kPostcopy)) {
    rememberSwitch();
    note("paused here for the switch");
    // Post-copy: the source can never run it again.
    if (detail == LifecycleDetail::kPostcopy) arrivedThere();
  }
  if (event == Lifecycle::kStopped && detail == LifecycleDetail::kMigrated && transferring) {
    note("libvirt says that the domain has left");
    if (adopting_) transferEnded({});
  }
  // libvirt says this word only of what it had paused for the switch, which a daemon that was down has not seen.
  if (event == Lifecycle::kResumed && detail == LifecycleDetail::kMigrated && switches) rememberSwitch();
  if (event == Lifecycle::kResumed && switched_ && !ended()) pauseSecondCopy();
  if ((event == Lifecycle::kStopped && detail != LifecycleDetail::kMigrated) ||
      event == Lifecycle::kCrashed) {
    lookWhetherRemoved();  // a domain that ends takes its devices with it
  }
  if (event == Lifecycle::kSuspended || event == Lifecycle::kStopped || event == Lifecycle::kCrashed)
    lookForMover();
  // RESUMED after a cancelled job, STOPPED or a crash while a job is adopted: the state tells which.
  if (adopting_ &&
      (event == Lifecycle::kResumed || event == Lifecycle::kStopped || event == Lifecycle::kCrashed)) {
    adoptTransfer();
  }
}

void DepartureSession::onJobCompleted() {
  if (adopting_) adoptTransfer();
}

void DepartureSession::onReconnected() {
  if (adopting_) adoptTransfer();
  if (unplug_attempt_) lookWhetherRemoved();
  if (arrival_attempt_) pauseSecondCopy();
  lookForMover();
  machine_.process(TryNow());  // it may have been libvirt that failed the last one
}

}  // namespace rdmove
