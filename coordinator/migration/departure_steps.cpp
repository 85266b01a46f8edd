// Steps of a departure that ask the host, the guest's agent and the partner.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/agent_devices.hpp"
#include "coordinator/migration/definition.hpp"
#include "coordinator/migration/departure_session.hpp"
#include "coordinator/migration/host_driver.hpp"
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

/// kNotFound when the domain does not run here any more.
Result<void> stillHere(Hypervisor& hypervisor, const Plan& plan) {
  const auto status = hypervisor.find(plan.uuid.str());
  if (!status && status.error().code != ErrorCode::kNotFound) return tl::unexpected(status.error());
  if (status && status->state != DomainState::kShutOff && status->state != DomainState::kAbsent) return {};
  return failure(ErrorCode::kNotFound, "move " + plan.domain, "the domain ended on the source meanwhile",
                 "Start it again; its definition is as it was.");
}

/// The VFs of the plan that the live XML does not show.
Result<std::vector<MovingVf>> missing(Hypervisor& hypervisor, const Plan& plan) {
  if (auto here = stillHere(hypervisor, plan); !here) return tl::unexpected(here.error());
  const auto xml = hypervisor.xml(plan.uuid, XmlKind::kLive);
  if (!xml) return tl::unexpected(xml.error());
  std::vector<MovingVf> gone;
  for (const MovingVf& vf : plan.vfs) {
    const auto device = findDevice(*xml, vf.declaration.alias);
    if (device) continue;
    if (device.error().code != ErrorCode::kNotFound) return tl::unexpected(device.error());
    gone.push_back(vf);
  }
  return gone;
}

/// It is here, and nobody takes it away.
Result<void> staysHere(Hypervisor& hypervisor, const Plan& plan) {
  const auto status = hypervisor.find(plan.uuid.str());
  if (!status) return tl::unexpected(status.error());
  if (!status->migration_job) return stillHere(hypervisor, plan);
  return failure(ErrorCode::kConflict, "put the devices of " + plan.domain + " back", "a migration of it runs",
                 "Wait for it, or end it with virsh domjobabort " + plan.domain + ".");
}

/// The arrival that this departure takes over from had not come to the definition: it may name its source's VFs.
Result<void> defineAsItIs(Hypervisor& hypervisor, Fabric& fabric, const Plan& plan,
                          const std::map<DeviceAlias, VfName>& vfs) {
  const auto status = hypervisor.find(plan.uuid.str());
  if (!status) return tl::unexpected(status.error());
  if (!status->persistent) return {};
  std::vector<LeasedVf> devices;
  for (const MovingVf& vf : plan.vfs) {
    const auto where = vfs.find(vf.declaration.alias);
    if (where == vfs.end()) continue;
    auto element = fabric.bind(where->second, vf);
    if (!element) return tl::unexpected(element.error());
    devices.push_back({vf.declaration.alias, vf.declaration.pool, where->second, std::move(*element)});
  }
  return correctDefinition(hypervisor, plan.uuid, devices);
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

void DepartureSession::replug(Attempt attempt) {
  struct Replugged {
    std::optional<Error> ended;  ///< the domain's own end: there is nothing to plug into
    bool went = false;           ///< the partner had let it in after all
  };
  const auto records = identityRecords(services_.journal);
  if (!records) {
    return later(
        [this, attempt, error = records.error()] { answer(Step::kReplug, attempt, tl::unexpected(error)); });
  }
  offload<Replugged>(
      [this, plan = plan_, vfs = source_vfs_, records = *records, debt = debt_, word = word_,
       reserved = !leases_.empty()]() -> Result<Replugged> {
        const auto gone = missing(services_.hypervisor, plan);
        if (!gone && gone.error().code == ErrorCode::kNotFound) {
          if (!reserved) return Replugged{gone.error()};  // there is no way in
          const auto went = wentThere(services_.partners, plan, word);
          if (!went) return tl::unexpected(went.error());
          return Replugged{gone.error(), *went};
        }
        if (!gone) return tl::unexpected(gone.error());
        for (const MovingVf& vf : *gone) {
          const auto where = vfs.find(vf.declaration.alias);
          if (where == vfs.end()) {
            return failure(ErrorCode::kInternal, "put " + vf.declaration.alias.str() + " back",
                           "the journal does not say which VF it had", "Attach it by hand.");
          }
          const auto element = services_.fabric.bind(where->second, vf);
          if (!element) return tl::unexpected(element.error());
          const IdentityRecord record = recordOf(records, where->second).value_or(IdentityRecord());
          const auto give = [&](Attached attached) {
            return services_.fabric.giveIdentity(where->second, vf, record, attached);
          };
          if (auto stays = staysHere(services_.hypervisor, plan); !stays) return tl::unexpected(stays.error());
          if (auto free = takeAgainFromHost(services_.fabric, services_.hypervisor, where->second); !free)
            return tl::unexpected(free.error());
          if (auto live = give(Attached::kNotYet); !live) return tl::unexpected(live.error());
          auto attached = services_.hypervisor.attach(plan.uuid, *element);
          if (!attached) {
            // A migration that has begun since takes the VM where the identity may be live, too.
            if (staysHere(services_.hypervisor, plan)) return tl::unexpected(attached.error());
            auto taken = services_.fabric.takeIdentity(where->second, vf.declaration.identity, record);
            return tl::unexpected(taken ? attached.error() : taken.error());
          }
          if (auto live = give(Attached::kYes); !live) return tl::unexpected(live.error());
        }
        if (debt == Debt::kInherited) {
          if (auto right = defineAsItIs(services_.hypervisor, services_.fabric, plan, vfs); !right)
            return tl::unexpected(right.error());
        }
        return Replugged{};
      },
      [this, attempt](Result<Replugged> result) {
        if (!result) return answer(Step::kReplug, attempt, tl::unexpected(result.error()));
        if (result->went) return arrivedThere();
        domain_ended_ = result->ended.has_value();
        if (domain_ended_) keepBlame(*result->ended);
        answer(Step::kReplug, attempt, {});
      });
}

void DepartureSession::restoreGuest(Attempt attempt) {
  if (domain_ended_) return later([this, attempt] { answer(Step::kRestoreGuest, attempt, {}); });
  agent()->restore(record_.id, agentDevices(plan_, services_.fabric), services_.config.timeouts.restore,
                   [this, weak = weak_from_this(), attempt](Result<RestoreOutcome> result) {
                     const auto self = weak.lock();
                     if (!self) return;
                     if (result) {
                       guestTookUp(*result);
                       return answer(Step::kRestoreGuest, attempt, {});
                     }
                     // An agent that is silent because its guest has ended is not waited for.
                     offload<void>([this, plan = plan_] { return stillHere(services_.hypervisor, plan); },
                                   [this, attempt, error = result.error()](Result<void> here) {
                                     domain_ended_ = !here && here.error().code == ErrorCode::kNotFound;
                                     if (!domain_ended_)
                                       return answer(Step::kRestoreGuest, attempt, tl::unexpected(error));
                                     keepBlame(here.error());
                                     answer(Step::kRestoreGuest, attempt, {});
                                   });
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

void DepartureSession::withdraw(Attempt attempt) {
  if (leases_.empty() && record_.phase == "Refusing" && plan_.vfs.empty()) {
    return later([this, attempt] { answer(Step::kWithdraw, attempt, {}); });  // the partner never heard of it
  }
  inWorker(Step::kWithdraw, attempt, [this, plan = plan_]() -> Result<void> {
    const auto partner = services_.partners.find(plan.destination);
    if (!partner) return tl::unexpected(partner.error());
    const auto answered = (*partner)->withdraw(plan.id, true);
    if (!answered) return tl::unexpected(answered.error());
    if (answered->running_there) {
      return failure(ErrorCode::kConflict, "take the reservation back",
                     plan.destination.str() + " says that the domain runs there (" + answered->state + ")",
                     "Stop the copy that should not run, then look at both hosts with virsh list.");
    }
    return {};
  });
}

}  // namespace rdmove
