// Steps of an arrival: VFs picked and leased, attached, the guest restored, the definition made right.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/migration/arrival_session.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/preflight/occupancy.hpp"

namespace rdmove {

namespace {

/// A metadata without a MAC means the device's own, which the source read; all else must be what it says.
bool sameIdentity(const Identity& shown, const Identity& told) {
  return (!shown.mac || shown.mac == told.mac) && shown.vlan == told.vlan &&
         shown.node_guid == told.node_guid && shown.port_guid == told.port_guid;
}

}  // namespace

void ArrivalSession::stage(Attempt attempt) {
  offload<HostVfs>(
      [this, uuid = plan_.uuid, name = plan_.domain]() -> Result<HostVfs> {
        if (const auto here = services_.hypervisor.find(uuid.str());
            here && here->state != DomainState::kShutOff) {
          return failure(ErrorCode::kConflict, "reserve for " + name,
                         "it exists on this host already (" + here->state_text + ")");
        }
        auto all = services_.fabric.vfs();
        if (!all) return tl::unexpected(all.error());
        const auto taken = occupants(services_.hypervisor, services_.fabric);
        if (!taken) return tl::unexpected(taken.error());
        return HostVfs{std::move(*all), names(*taken)};
      },
      [this, attempt](Result<HostVfs> vfs) {
        if (!vfs) return answer(Step::kStage, attempt, tl::unexpected(vfs.error()));
        lease(attempt, std::move(*vfs));
      });
}

void ArrivalSession::lease(Attempt attempt, HostVfs vfs) {
  const auto others = services_.journal.leases();
  if (!others) return answer(Step::kStage, attempt, tl::unexpected(others.error()));
  for (const LeaseRecord& other : *others) vfs.taken.insert(other.vf);

  std::vector<LeaseRecord> rows;
  leases_.clear();
  for (const MovingVf& moving : plan_.vfs) {
    const VfDeclaration& wanted = moving.declaration;
    const auto free = freeVfs(vfs.all, wanted.pool, vfs.taken);
    if (free.empty()) {
      return answer(
          Step::kStage, attempt,
          failure(ErrorCode::kExhausted, "reserve a VF for " + plan_.domain,
                  "pool " + wanted.pool.str() + " of " + services_.config.host.str() + " has no free VF",
                  "See rdmove vf list there."));
    }
    const VfName vf = free.front().name;
    vfs.taken.insert(vf);
    LeaseRecord row;
    row.migration = record_.id;
    row.uuid = plan_.uuid;
    row.alias = wanted.alias;
    row.pool = wanted.pool;
    row.vf = vf;
    row.expires_boot_ns = (services_.clock.now().boot + hold_).count();
    row.boot_id = services_.clock.bootId();
    rows.push_back(row);
    leases_.push_back({wanted.alias, wanted.pool, vf, ""});
  }
  if (auto leased = services_.journal.lease(rows); !leased) return answer(Step::kStage, attempt, leased);
  bindLeases(attempt);
}

void ArrivalSession::bindLeases(Attempt attempt) {
  offload<std::vector<LeasedVf>>(
      [this, plan = plan_, leases = leases_]() mutable -> Result<std::vector<LeasedVf>> {
        for (std::size_t i = 0; i < leases.size(); ++i) {
          auto element = services_.fabric.bind(leases[i].vf, plan.vfs[i]);
          if (!element) return tl::unexpected(element.error());
          leases[i].device_xml = std::move(*element);
        }
        return std::move(leases);
      },
      [this, attempt](Result<std::vector<LeasedVf>> bound) {
        if (!bound) {
          (void)services_.journal.freeLeases(record_.id);
          return answer(Step::kStage, attempt, tl::unexpected(bound.error()));
        }
        leases_ = *bound;
        if (auto kept = services_.journal.setFact(record_.id, record_.role, "leases", leasesToJson(leases_));
            !kept) {
          (void)services_.journal.freeLeases(record_.id);
          return answer(Step::kStage, attempt, kept);
        }
        armHold();
        answer(Step::kStage, attempt, {});
        if (reserved_) {
          auto reserved = std::move(reserved_);
          reserved_ = nullptr;
          reserved(leases_);
        }
      });
}

/// The partner's word is not enough for an identity: the domain that arrived must declare it in its own
/// metadata.
void ArrivalSession::plug(Attempt attempt) {
  agent_ = services_.agents.link(plan_.uuid);  // opens the channel while the device is attached
  offload<void>(
      [this, plan = plan_, leases = leases_]() -> Result<void> {
        const auto element = services_.hypervisor.metadata(plan.uuid, XmlKind::kLive);
        if (!element) return tl::unexpected(element.error());
        const auto declared =
            *element ? parseDeclaration(**element) : Result<DomainDeclaration>(DomainDeclaration{});
        if (!declared) return tl::unexpected(declared.error());
        for (std::size_t i = 0; i < leases.size(); ++i) {
          const VfDeclaration& told = plan.vfs[i].declaration;
          const auto shown = std::find_if(declared->vfs.begin(), declared->vfs.end(),
                                          [&](const VfDeclaration& vf) { return vf.alias == told.alias; });
          const bool same = shown != declared->vfs.end() && shown->pool == told.pool &&
                            sameIdentity(shown->identity, told.identity);
          if (!same) {
            return failure(ErrorCode::kRefused, "attach " + told.alias.str() + " to " + plan.domain,
                           "the arrived domain's metadata does not show the identity that its source named",
                           "Compare virsh dumpxml with rdmove show on the source.");
          }
          if (auto attached = services_.hypervisor.attach(plan.uuid, leases[i].device_xml); !attached)
            return attached;
        }
        return {};
      },
      [this, attempt](Result<void> result) { answer(Step::kPlug, attempt, std::move(result)); });
}

void ArrivalSession::restoreGuest(Attempt attempt) {
  if (!agent_) agent_ = services_.agents.link(plan_.uuid);
  std::vector<AgentDevice> devices;
  for (const MovingVf& vf : plan_.vfs) {
    devices.push_back({vf.declaration.alias, vf.declaration.identity.mac.value_or(MacAddress{}),
                       services_.fabric.softRoce(vf.declaration.pool)});
  }
  agent_->restore(record_.id, devices, services_.config.timeouts.restore,
                  [this, weak = weak_from_this(), attempt](Result<RestoreOutcome> result) {
                    const auto self = weak.lock();
                    if (!self) return;
                    if (!result) return answer(Step::kRestoreGuest, attempt, tl::unexpected(result.error()));
                    guestDid("Taking up", result->took);
                    for (const RestoredDevice& device : result->devices) {
                      note(fmt::format("the guest has {} back as {} on {}: {}", device.alias.str(),
                                       device.rdma, device.netdev, fmt::join(device.addresses, ", ")));
                    }
                    answer(Step::kRestoreGuest, attempt, {});
                  });
}

void ArrivalSession::verify(Attempt attempt) {
  offload<void>(
      [this, plan = plan_, leases = leases_]() -> Result<void> {
        const auto live = services_.hypervisor.xml(plan.uuid, XmlKind::kLive);
        if (!live) return tl::unexpected(live.error());
        for (const LeasedVf& lease : leases) {
          const auto device = findDevice(*live, lease.alias);
          if (!device) return tl::unexpected(device.error());
          if (!sameForGuest(device->element, lease.device_xml)) {
            return failure(ErrorCode::kInternal, "verify " + lease.alias.str(),
                           "the live device is not the same for the guest as the one that left",
                           "Compare virsh dumpxml with rdmove show.");
          }
        }
        if (!plan.persistent) return {};
        const auto status = services_.hypervisor.find(plan.uuid.str());
        if (!status) return tl::unexpected(status.error());
        if (!status->persistent) {
          return failure(ErrorCode::kUnavailable, "verify the definition of " + plan.domain,
                         "libvirt has not made it persistent here yet");
        }
        auto inactive = services_.hypervisor.xml(plan.uuid, XmlKind::kInactive);
        if (!inactive) return tl::unexpected(inactive.error());
        std::string wanted = *inactive;
        bool wrong = false;
        for (const LeasedVf& lease : leases) {
          const auto device = findDevice(wanted, lease.alias);
          if (device && sameForGuest(device->element, lease.device_xml)) continue;
          wrong = true;
          auto replaced = replaceDevice(wanted, lease.alias, lease.device_xml);
          if (!replaced) return tl::unexpected(replaced.error());
          wanted = std::move(*replaced);
        }
        return wrong ? services_.hypervisor.define(wanted) : Result<void>();
      },
      [this, attempt](Result<void> result) { answer(Step::kVerify, attempt, std::move(result)); });
}

void ArrivalSession::unstage(Attempt attempt) {
  const auto freed = services_.journal.freeLeases(record_.id);
  later([this, attempt, freed] { answer(Step::kUnstage, attempt, freed); });
}

}  // namespace rdmove
