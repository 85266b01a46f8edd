// The steps of a departure's way back: the devices attached again, the guest's addresses, the partner's reservation.
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/agent_devices.hpp"
#include "coordinator/migration/definition.hpp"
#include "coordinator/migration/departure_domain.hpp"
#include "coordinator/migration/departure_session.hpp"
#include "coordinator/migration/host_driver.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {
namespace {

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

void DepartureSession::replug(Attempt attempt) {
  // Another mover's migration has begun since and come to its switch: its end decides.
  if (switched_) return settle(Step::kReplug, attempt, [this, attempt] { replug(attempt); });
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
          // Live only with the device in the VM: before the next try another mover may take the VM where the identity
          // is live, too.
          const auto without = [&](const Error& error) -> tl::unexpected<Error> {
            const auto taken = services_.fabric.takeIdentity(where->second, vf.declaration.identity, record);
            return tl::unexpected(taken ? error : taken.error());
          };
          if (auto stays = staysHere(services_.hypervisor, plan); !stays) return without(stays.error());
          if (auto free = takeAgainFromHost(services_.fabric, services_.hypervisor, where->second); !free)
            return tl::unexpected(free.error());
          if (auto live = give(Attached::kNotYet); !live) return tl::unexpected(live.error());
          auto attached = services_.hypervisor.attach(plan.uuid, *element);
          if (!attached) return without(attached.error());
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
        if (switched_) return replug(attempt);
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
