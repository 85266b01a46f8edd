// Steps of a departure on its way there: what asks the host, the guest's agent and the partner.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/agent_devices.hpp"
#include "coordinator/migration/departure_domain.hpp"
#include "coordinator/migration/departure_session.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/traffic.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {
namespace {

std::string describe(const std::vector<Holdout>& holdouts) {
  std::string text;
  for (const Holdout& holdout : holdouts) {
    text += fmt::format("{}pid {} ({}) holds {}", text.empty() ? "" : ", ", holdout.pid, holdout.name,
                        holdout.device);
  }
  return text;
}

/// All errors of a list as one sentence each, for a caller who has only one line. kExhausted when all that is
/// missing is a free VF: another destination may have one.
Error asError(const std::vector<Finding>& findings) {
  Error error{ErrorCode::kExhausted, "", "", ""};
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kError) continue;
    if (finding.code != "no-free-vf") error.code = ErrorCode::kRefused;
    error.cause += (error.cause.empty() ? "" : " ") + finding.sentence;
    error.remedy += (error.remedy.empty() ? "" : " ") + finding.remedy;
  }
  return error;
}

}  // namespace

void DepartureSession::examine(Attempt attempt) {
  offload<Examination>(
      [this, request = plan_] { return Result<Examination>(examiner_.examine(request)); },
      [this, attempt](Result<Examination> result) {
        if (!result) return answer(Step::kExamine, attempt, tl::unexpected(result.error()));
        if (!result->plan) return answer(Step::kExamine, attempt, tl::unexpected(asError(result->findings)));
        for (const Finding& finding : result->findings) {
          if (finding.severity == Severity::kWarning) note(finding.sentence + " " + finding.remedy);
        }
        plan_ = *result->plan;
        // A device that an unfinished arrival owes is nowhere to be seen: its VF is the one that we know.
        for (const auto& [alias, vf] : result->source_vfs) source_vfs_[alias] = vf;
        if (auto written = services_.journal.setPlan(record_.id, record_.role, toJson(plan_)); !written) {
          return answer(Step::kExamine, attempt, written);
        }
        for (const auto& [alias, vf] : source_vfs_) remember("source-vf:" + alias.str(), vf.str());
        answer(Step::kExamine, attempt, {});
      });
}

void DepartureSession::reserve(Attempt attempt) {
  offload<std::vector<LeasedVf>>(
      [this, plan = plan_]() -> Result<std::vector<LeasedVf>> {
        const auto partner = services_.partners.find(plan.destination);
        if (!partner) return tl::unexpected(partner.error());
        const auto least = services_.config.timeouts.lease_hold;
        return (*partner)->reserve(
            plan, plan.mover == Mover::kAnother ? std::max(least, plan.options.hold) : least);
      },
      [this, attempt](Result<std::vector<LeasedVf>> result) {
        if (!result) return answer(Step::kReserve, attempt, tl::unexpected(result.error()));
        leases_ = *result;
        remember("leases", leasesToJson(leases_));
        follow();
        answer(Step::kReserve, attempt, {});
      });
}

void DepartureSession::prepareGuest(Attempt attempt) {
  agent()->prepare(
      record_.id, agentDevices(plan_, services_.fabric), plan_.options.prepare_deadline, plan_.options.force,
      [this, weak = weak_from_this(), attempt](Result<PrepareOutcome> result) {
        const auto self = weak.lock();
        if (!self) return;
        if (!result) return answer(Step::kPrepareGuest, attempt, tl::unexpected(result.error()));
        if (!result->holdouts.empty()) {
          return answer(Step::kPrepareGuest, attempt,
                        failure(ErrorCode::kHoldouts, "prepare " + plan_.domain,
                                describe(result->holdouts) + " and does not let go",
                                "End it, or let it register with the guest agent; --force goes on anyway."));
        }
        traffic_before_ = result->traffic;
        if (!traffic_before_.empty()) remember(kTrafficBefore, trafficToJson(traffic_before_));
        note(fmt::format("{} applications let go", result->applications));
        guestDid("Letting go", result->took);
        answer(Step::kPrepareGuest, attempt, {});
      });
}

Result<void> DepartureSession::holdSourceVfs() {
  std::vector<LeaseRecord> rows;
  for (const MovingVf& vf : plan_.vfs) {
    const auto where = source_vfs_.find(vf.declaration.alias);
    if (where == source_vfs_.end()) continue;
    LeaseRecord row;
    row.migration = record_.id;
    row.uuid = plan_.uuid;
    row.alias = vf.declaration.alias;
    row.pool = vf.declaration.pool;
    row.vf = where->second;
    row.permanent = true;
    rows.push_back(std::move(row));
  }
  return services_.journal.lease(rows);
}

void DepartureSession::unplug(Attempt attempt) {
  if (auto held = holdSourceVfs(); !held) {
    return later([this, attempt, held] { answer(Step::kUnplug, attempt, held); });
  }
  unplug_attempt_ = attempt;
  leaving_.clear();
  for (const MovingVf& vf : plan_.vfs) leaving_.insert(vf.declaration.alias);
  offload<void>(
      [this, plan = plan_]() -> Result<void> {
        if (auto here = stillHere(services_.hypervisor, plan); !here) return here;
        for (const MovingVf& vf : plan.vfs) {
          const auto asked = services_.hypervisor.detach(plan.uuid, vf.declaration.alias);
          if (asked || asked.error().code == ErrorCode::kNotFound) continue;  // or gone already
          Error error = asked.error();
          // One that was asked before it may be leaving: not a plain refusal any more.
          if (&vf != &plan.vfs.front() && error.code == ErrorCode::kRefused)
            error.code = ErrorCode::kInternal;
          return tl::unexpected(error);
        }
        return {};
      },
      [this, attempt](Result<void> result) {
        if (!result && unplug_attempt_ == attempt) {
          unplug_attempt_.reset();
          return answer(Step::kUnplug, attempt, result);
        }
        lookWhetherRemoved();
      });
}

void DepartureSession::onDeviceRemoved(const DeviceAlias& alias) {
  if (!unplug_attempt_ || leaving_.count(alias) == 0) return;
  note("removed: " + alias.str());
  lookWhetherRemoved();
}

void DepartureSession::onDeviceRemovalFailed(const DeviceAlias& alias) {
  if (!unplug_attempt_ || leaving_.count(alias) == 0) return;
  const Attempt attempt = *unplug_attempt_;
  unplug_attempt_.reset();
  // With several devices the others may still leave: then it is not settled by this one's refusal.
  const ErrorCode code = plan_.vfs.size() == 1 ? ErrorCode::kRefused : ErrorCode::kUnavailable;
  answer(
      Step::kUnplug, attempt,
      failure(code, "unplug " + alias.str() + " from " + plan_.domain,
              "the guest refused to give the device up", "Look at the guest's kernel log, then try again."));
}

/// A guest that was not listening when it was asked never hears of it by itself. Until this is done nothing
/// goes on, or it would take out the device that the way back has just attached.
void DepartureSession::askForUnplugAgain() {
  if (!unplug_attempt_ || asking_again_) return;
  asking_again_ = true;
  offload<void>(
      [this, uuid = plan_.uuid, leaving = leaving_]() -> Result<void> {
        for (const DeviceAlias& alias : leaving) {
          if (const auto asked = services_.hypervisor.detach(uuid, alias); !asked) return asked;
        }
        return {};
      },
      [this](Result<void>) {  // what it said: the next time, and what is there, decide
        asking_again_ = false;
        lookWhetherRemoved();
      });
}

void DepartureSession::lookWhetherRemoved() {
  if (!unplug_attempt_ || asking_again_) return;
  offload<std::vector<MovingVf>>([this, plan = plan_] { return missing(services_.hypervisor, plan); },
                                 [this, attempt = *unplug_attempt_](Result<std::vector<MovingVf>> gone) {
                                   if (unplug_attempt_ != attempt || asking_again_) return;
                                   if (!gone && gone.error().code == ErrorCode::kNotFound) {
                                     unplug_attempt_.reset();
                                     return answer(Step::kUnplug, attempt, tl::unexpected(gone.error()));
                                   }
                                   if (!gone) return;  // the next event or reconnect asks again
                                   for (const MovingVf& vf : *gone) leaving_.erase(vf.declaration.alias);
                                   if (!leaving_.empty()) return;
                                   unplug_attempt_.reset();
                                   answer(Step::kUnplug, attempt, {});
                                 });
}

void DepartureSession::takeIdentity(Attempt attempt) {
  const auto failed = [this, attempt](const Error& error) {
    later([this, attempt, error] { answer(Step::kTakeIdentity, attempt, tl::unexpected(error)); });
  };
  auto records = identityRecords(services_.journal);
  if (!records) return failed(records.error());
  for (const MovingVf& vf : plan_.vfs) {
    const auto where = source_vfs_.find(vf.declaration.alias);
    if (where == source_vfs_.end() || records->contains(where->second)) continue;
    // Somebody else gave it to the VF: a replug has to know that it is to come back.
    IdentityRecord record = services_.fabric.recordOf(where->second, vf.declaration.identity);
    if (auto kept = keepRecord(services_.journal, record_.id, where->second, record); !kept)
      return failed(kept.error());
    (*records)[where->second] = std::move(record);
  }
  inWorker(Step::kTakeIdentity, attempt,
           [this, plan = plan_, vfs = source_vfs_, records = *records]() -> Result<void> {
             for (const MovingVf& vf : plan.vfs) {
               const auto where = vfs.find(vf.declaration.alias);
               if (where == vfs.end()) continue;
               auto taken = services_.fabric.takeIdentity(where->second, vf.declaration.identity,
                                                          recordOf(records, where->second));
               if (!taken) return taken;
             }
             return {};
           });
}

void DepartureSession::announceRelease(Attempt attempt) {
  announced_ = true;
  inWorker(Step::kAnnounceRelease, attempt, [this, plan = plan_, before = traffic_before_]() -> Result<void> {
    const auto partner = services_.partners.find(plan.destination);
    if (!partner) return tl::unexpected(partner.error());
    return (*partner)->releaseIdentity(plan.id, before);
  });
}

/// Asked again and again: who holds on may show only when the kernel has come to the point where it waits, and who
/// has let go may have held before the guest was asked. No event tells of either.
void DepartureSession::nameHoldouts() {
  agent()->holdouts(
      services_.config.timeouts.agent, [this, weak = weak_from_this()](Result<std::vector<Holdout>> result) {
        constexpr std::chrono::milliseconds kAskAgain{2000};
        const auto self = weak.lock();
        if (!self || record_.phase != "UnplugStuck") return;
        const bool held = result && !result->empty();
        if (held) {
          const Error named{ErrorCode::kHoldouts, "take the RDMA device out of " + plan_.domain,
                            describe(*result) + " and does not let go",
                            "End it in the guest; the rest happens by itself."};
          blame_ = named.sentence();
          sayDegraded(named);
        }
        ask_again_ = services_.timers.after(kAskAgain, [this, weak, held] {
          const auto again = weak.lock();
          if (!again || record_.phase != "UnplugStuck") return;
          if (!held) askForUnplugAgain();
          nameHoldouts();
        });
      });
}

}  // namespace rdmove
