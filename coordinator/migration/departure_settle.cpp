// Who runs the domain: when the transfer failed, and when what is left of it here is to go.
#include "coordinator/migration/departure_session.hpp"
#include "coordinator/migration/host_driver.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {
namespace {

/// Where the domain runs after a transfer that failed.
struct WhoRuns {
  bool there = false;
  bool paused_here = false;  ///< here and nowhere else, but not running
};                           // neither: it runs here, or has ended; Replugging sees which

/// What the partner says decides, if it says anything.
bool decides(const Result<WithdrawAnswer>& answer) {
  return answer && (answer->running_there || answer->ran_there || !answer->may_have_run);
}

/// The partner's durable word; the operator's, when the partner is silent or does not know.
Result<WithdrawAnswer> askPartner(Partners& partners, const Plan& plan, std::optional<OperatorWord> word) {
  const auto partner = partners.find(plan.destination);
  if (!partner) return tl::unexpected(partner.error());
  auto answered = (*partner)->withdraw(plan.id, false);
  if (decides(answered) || !word) return answered;
  if (word == OperatorWord::kDestinationIsDead) return WithdrawAnswer{false, "dead"};
  if (word == OperatorWord::kRunsThere) return WithdrawAnswer{true, "running", true};
  return answered;
}

/// Never switched: only this host can run it. Switched: only the partner's durable word decides.
Result<WhoRuns> whoRuns(Hypervisor& hypervisor, Partners& partners, const Plan& plan, bool switched,
                        bool canceled_before, std::optional<OperatorWord> word) {
  const std::string what = "settle who runs " + plan.domain;
  const auto status = hypervisor.find(plan.uuid.str());
  if (!status && status.error().code != ErrorCode::kNotFound) return tl::unexpected(status.error());
  const DomainState state = status ? status->state : DomainState::kAbsent;
  if (status && status->migration_job)
    return failure(ErrorCode::kConflict, what, "libvirt's job has not ended");
  // A daemon that was down at the switch sees it in the reason: libvirt resumes with this one only what it
  // had paused.
  if (status && status->run_reason == RunReason::kMigrationCanceled && !canceled_before) switched = true;
  if (state == DomainState::kRunning && !switched) return WhoRuns{};
  if (state == DomainState::kRunning) {
    if (auto paused = hypervisor.suspend(plan.uuid); !paused) return tl::unexpected(paused.error());
  }

  const bool here = state != DomainState::kAbsent && state != DomainState::kShutOff;
  const auto answered = askPartner(partners, plan, word);
  if (!answered) {
    return failure(ErrorCode::kTimeout, what,
                   plan.destination.str() + " does not answer, and the switch had begun, so it may run there",
                   (here ? "The domain is paused here. Bring " : "Bring ") + plan.destination.str() +
                       " back; if it is lost, see rdmove resolve " + plan.id.str() + ".");
  }
  if (!decides(answered)) {
    return failure(ErrorCode::kTimeout, what,
                   plan.destination.str() + " has started anew in the middle of the switch: nobody knows whether "
                                            "the domain has run there",
                   "Decide it with rdmove resolve " + plan.id.str() + ".");
  }
  // One that has run there and ended is not started again from its past.
  if (answered->running_there || answered->ran_there) {
    if (here) {
      if (auto gone = hypervisor.destroy(plan.uuid); !gone) return tl::unexpected(gone.error());
    }
    return WhoRuns{true, false};
  }
  return WhoRuns{false, here};
}

}  // namespace

Result<bool> wentThere(Partners& partners, const Plan& plan, std::optional<OperatorWord> word) {
  const auto answered = askPartner(partners, plan, word);
  if (!answered) return tl::unexpected(answered.error());
  if (!decides(answered)) {
    return failure(ErrorCode::kTimeout, "learn where " + plan.domain + " is",
                   "it is not here, and " + plan.destination.str() +
                       " has started anew in the middle of the switch: nobody knows whether it came",
                   "Decide it with rdmove resolve " + plan.id.str() + ".");
  }
  return answered->running_there || answered->ran_there;
}

void DepartureSession::settle(Step step, Attempt attempt, std::function<void()> then) {
  offload<WhoRuns>(
      [this, plan = plan_, switched = switched_, before = canceled_before_, word = word_] {
        return whoRuns(services_.hypervisor, services_.partners, plan, switched, before, word);
      },
      [this, step, attempt, then = std::move(then)](Result<WhoRuns> who) {
        if (!who) return answer(step, attempt, tl::unexpected(who.error()));
        if (who->there) return arrivedThere();
        transfer_over_ = true;
        switched_ = false;  // proven: the RESUMED that follows is ours
        remember("switched", "no");
        if (!who->paused_here) return then ? then() : answer(step, attempt, {});
        offload<void>([this, uuid = plan_.uuid] { return services_.hypervisor.resume(uuid); },
                      [this, step, attempt, then](Result<void> resumed) {
                        resumed && then ? then() : answer(step, attempt, resumed);
                      });
      });
}

void DepartureSession::rememberSwitch() {
  if (switched_) return;
  switched_ = true;
  remember("switched", "yes");
}

/// Its pause for the switch may have gone unseen.
void DepartureSession::arrivedThere() {
  rememberSwitch();
  machine_.process(DomainArrived());
}

/// libvirt resumes a source that lost its destination at the switch, though the destination may run. Paused
/// first, asked then: the guest must never run twice. One that has come from elsewhere is no copy.
void DepartureSession::pauseSecondCopy() {
  offload<bool>(
      [this, uuid = plan_.uuid]() -> Result<bool> {
        const auto status = services_.hypervisor.find(uuid.str());
        if (!status && status.error().code == ErrorCode::kNotFound) return false;
        if (!status) return tl::unexpected(status.error());
        const bool came = status->run_reason == RunReason::kMigrated || status->run_reason == RunReason::kPostcopy;
        if (status->state != DomainState::kRunning || came) return false;
        if (auto paused = services_.hypervisor.suspend(uuid); !paused) return tl::unexpected(paused.error());
        return true;
      },
      [this](Result<bool> paused) {
        if (!paused) return note("cannot pause what may be a second copy: " + paused.error().sentence());
        if (!*paused) return;
        if (!switched_) {  // settled meanwhile: it runs here, and this pause came late
          return offload<void>([this, uuid = plan_.uuid] { return services_.hypervisor.resume(uuid); },
                               [](Result<void>) {});
        }
        note("resumed here after the switch had begun: paused until it is known who runs it");
      });
}

/// A bridge slot has nothing to give back, and libvirt returns a managed VF to its driver. What is looked at
/// is the domain: a copy that libvirt left paused here (its daemon died at the switch) must never be resumed.
/// One that runs may have come back by other means; only when it runs over there as well it is the copy. The
/// same goes for a definition that libvirt did not remove, because the migration failed in its eyes.
void DepartureSession::returnVf(Attempt attempt) {
  const auto records = identityRecords(services_.journal);
  if (!records) {
    return later([this, attempt, error = records.error()] {
      answer(Step::kReturnVf, attempt, tl::unexpected(error));
    });
  }
  const auto leave = [this, plan = plan_, word = word_]() -> Result<void> {
    const auto status = services_.hypervisor.find(plan.uuid.str());
    if (!status) {
      if (status.error().code == ErrorCode::kNotFound) return {};
      return tl::unexpected(status.error());
    }
    const bool off = status->state == DomainState::kAbsent || status->state == DomainState::kShutOff;
    // What another mover leaves of its definition is its own affair.
    const bool undefines = plan.persistent && plan.mover == Mover::kRdmove;
    if (off && !(undefines && status->persistent)) return {};
    const bool runs = status->state == DomainState::kRunning;
    const bool resumed_by_libvirt = runs && status->run_reason == RunReason::kMigrationCanceled;
    if (resumed_by_libvirt) {  // paused first, asked then
      if (auto paused = services_.hypervisor.suspend(plan.uuid); !paused) return paused;
    }
    const bool paused_by_us = resumed_by_libvirt || status->state == DomainState::kPaused;
    if (off || runs || paused_by_us) {
      const auto answered = askPartner(services_.partners, plan, word);
      if (!answered) return tl::unexpected(answered.error());
      // What libvirt itself has resumed after the switch did not come back from anywhere.
      const bool ended_there = word == OperatorWord::kDestinationIsDead && !answered->ran_there;
      const bool came = answered->ran_there || answered->may_have_run;  // that it arrived is known here
      const bool left_behind = paused_by_us && (came || ended_there);
      if (left_behind && ended_there) return services_.hypervisor.destroy(plan.uuid);  // it starts from here again
      if (!answered->running_there && !left_behind) return {};
    }
    if (!off) {
      if (auto gone = services_.hypervisor.destroy(plan.uuid); !gone) return gone;
    }
    return undefines ? services_.hypervisor.undefine(plan.uuid) : Result<void>();
  };
  const auto work = [this, leave, records = *records, vfs = source_vfs_]() -> Result<void> {
    if (auto left = leave(); !left) return left;
    for (const auto& [alias, vf] : vfs) {
      const auto record = recordOf(records, vf);
      if (!record) continue;
      if (auto given = giveToHost(services_.fabric, services_.hypervisor, vf, *record); !given) return given;
    }
    return {};
  };
  offload<void>(work, [this, attempt](Result<void> left) {
    // Nothing of the VM is here: what its VFs were before it need not be known any more.
    for (const auto& [alias, vf] : source_vfs_) {
      if (left) left = services_.journal.forgetVf(vf);
    }
    answer(Step::kReturnVf, attempt, left);
  });
}

}  // namespace rdmove
