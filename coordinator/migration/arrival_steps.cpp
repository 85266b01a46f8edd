// Steps of an arrival: VFs picked and leased, attached, the guest restored. Verify is arrival_verify.cpp.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/migration/agent_devices.hpp"
#include "coordinator/migration/arrival_session.hpp"
#include "coordinator/migration/host_driver.hpp"
#include "coordinator/migration/model_promises.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/traffic.hpp"
#include "coordinator/migration/vf_records.hpp"
#include "coordinator/preflight/occupancy.hpp"

namespace rdmove {

namespace {

/// For a look at the guest's counters, which nothing waits for but the end of the migration.
constexpr std::chrono::milliseconds kLook{2000};

/// A metadata without a MAC means the device's own, which the source read; all else must be what it says.
bool sameIdentity(Identity shown, const Identity& told) {
  if (!shown.mac) shown.mac = told.mac;
  return shown == told;
}

/// Of libvirt's refusals: not that it is away, nor that the domain is, or is busy.
bool isOfTheDevice(const Error& refusal) {
  return refusal.code == ErrorCode::kInternal || refusal.code == ErrorCode::kRefused;
}

}  // namespace

namespace {

/// One that comes is not here yet; one that is adopted is.
Result<void> fitsHere(Hypervisor& hypervisor, const Plan& plan, bool adopted) {
  const auto here = hypervisor.find(plan.uuid.str());
  const bool active = here && here->state != DomainState::kShutOff;
  if (active && !adopted) {
    return failure(ErrorCode::kConflict, "reserve for " + plan.domain,
                   "it exists on this host already (" + here->state_text + ")");
  }
  if (adopted && (!active || here->state != DomainState::kRunning || here->migration_job)) {
    return failure(ErrorCode::kConflict, "give " + plan.domain + " its devices",
                   "it does not run on this host, or is being migrated",
                   "See virsh domstate and virsh domjobinfo.");
  }
  return {};
}

}  // namespace

void ArrivalSession::stage(Attempt attempt) {
  offload<HostVfs>(
      [this, plan = plan_, adopted = adopted_,
       others = portsWithIdentity(services_.journal)]() -> Result<HostVfs> {
        if (auto fits = fitsHere(services_.hypervisor, plan, adopted); !fits)
          return tl::unexpected(fits.error());
        auto vfs = hostVfs();
        if (vfs) fabric_watch_.before(plan, others);
        return vfs;
      },
      [this, attempt](Result<HostVfs> vfs) {
        if (!vfs) return answer(Step::kStage, attempt, tl::unexpected(vfs.error()));
        if (const std::string seen = fabric_watch_.remembered(); seen != "{}") keepFact(kFabricBefore, seen);
        lease(attempt, std::move(*vfs));
      });
}

/// In a worker.
Result<ArrivalSession::HostVfs> ArrivalSession::hostVfs() {
  auto all = services_.fabric.vfs();
  if (!all) return tl::unexpected(all.error());
  const auto taken = occupants(services_.hypervisor, services_.fabric);
  if (!taken) return tl::unexpected(taken.error());
  return HostVfs{std::move(*all), names(*taken)};
}

LeaseRecord ArrivalSession::leaseOf(const DeviceAlias& alias, const PoolName& pool, const VfName& vf) const {
  LeaseRecord row;
  row.migration = record_.id;
  row.uuid = plan_.uuid;
  row.alias = alias;
  row.pool = pool;
  row.vf = vf;
  row.expires_boot_ns = (services_.clock.now().boot + hold_).count();
  row.boot_id = services_.clock.bootId();
  return row;
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
    rows.push_back(leaseOf(wanted.alias, wanted.pool, vf));
    leases_.push_back({wanted.alias, wanted.pool, vf, ""});
  }
  if (auto leased = services_.journal.lease(rows); !leased) return answer(Step::kStage, attempt, leased);
  bindLeases(attempt);
}

/// The partner's word is not enough for an identity: the domain that arrived must declare it in its own
/// metadata.
void ArrivalSession::plug(Attempt attempt) {
  agent_ = services_.agents.link(plan_.uuid);  // opens the channel while the device is attached
  const auto records = identityRecords(services_.journal);
  if (!records) {
    return later(
        [this, attempt, error = records.error()] { answer(Step::kPlug, attempt, tl::unexpected(error)); });
  }
  // Staging took the VFs from the host's driver. A host that was started anew since has given them back to it, and
  // so may somebody else have; to look costs time that only a second try has.
  const bool look = std::exchange(look_at_drivers_, true);
  plugs_ = true;
  offload<std::optional<Unplugged>>(
      [this, plan = plan_, leases = leases_, records = *records, look]() -> Result<std::optional<Unplugged>> {
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
          const IdentityRecord record = recordOf(records, leases[i].vf).value_or(IdentityRecord());
          if (auto failed = plugOne(plan, leases[i], i, record, look)) return failed;
        }
        return std::optional<Unplugged>();
      },
      [this, attempt](Result<std::optional<Unplugged>> failed) {
        if (!failed) return plugged(attempt, tl::unexpected(failed.error()));
        if (!*failed) return plugged(attempt, {});
        if ((*failed)->vf) return vfFailed(attempt, *(*failed)->vf, (*failed)->why);
        plugged(attempt, tl::unexpected((*failed)->why));
      });
}

/// The plug's one way out: no worker of it is at the VFs any more.
void ArrivalSession::plugged(Attempt attempt, Result<void> result) {
  plugs_ = false;
  if (unstages_after_) return unstage(*std::exchange(unstages_after_, std::nullopt));
  answer(Step::kPlug, attempt, std::move(result));
}

/// In a worker. What the fabric says is of the VF; what libvirt says only if it has looked at the device.
std::optional<ArrivalSession::Unplugged> ArrivalSession::plugOne(const Plan& plan, const LeasedVf& lease,
                                                                std::size_t index, const IdentityRecord& record,
                                                                bool look) {
  if (look) {
    if (auto free = takeAgainFromHost(services_.fabric, services_.hypervisor, lease.vf); !free)
      return Unplugged{isOfTheDevice(free.error()) ? std::optional(index) : std::nullopt, free.error()};
  }
  const auto give = [&](Attached attached) {
    return services_.fabric.giveIdentity(lease.vf, plan.vfs[index], record, attached);
  };
  if (auto live = give(Attached::kNotYet); !live) return Unplugged{index, live.error()};
  if (auto attached = services_.hypervisor.attach(plan.uuid, lease.device_xml); !attached)
    return Unplugged{isOfTheDevice(attached.error()) ? std::optional(index) : std::nullopt, attached.error()};
  if (auto live = give(Attached::kYes); !live) return Unplugged{std::nullopt, live.error()};
  return std::nullopt;
}

namespace {

/// From the agent's status; empty when it is prepared for nothing, or says no such thing.
MigrationId preparedFor(const std::string& status) {
  constexpr std::size_t kLongest = 64;  // docs/agent-protocol.md
  const auto json = nlohmann::json::parse(status, nullptr, false);
  if (!json.is_object() || !json.contains("prepared") || !json["prepared"].is_string()) return {};
  const auto text = json["prepared"].get<std::string>();
  return text.size() <= kLongest ? MigrationId(text) : MigrationId();
}

}  // namespace

/// Who is adopted may have been prepared for a migration that this host does not know: what the guest captured
/// then is put back now.
void ArrivalSession::restoreGuest(Attempt attempt) {
  if (!agent_) agent_ = services_.agents.link(plan_.uuid);
  if (!adopted_) return restoreGuestAs(record_.id, attempt);
  agent_->query("status", services_.config.timeouts.agent,
                [this, weak = weak_from_this(), attempt](const Result<std::string>& status) {
                  const auto self = weak.lock();
                  if (!self) return;
                  if (!status) return answer(Step::kRestoreGuest, attempt, tl::unexpected(status.error()));
                  const MigrationId prepared_for = preparedFor(*status);
                  restoreGuestAs(prepared_for.empty() ? record_.id : prepared_for, attempt);
                });
}

void ArrivalSession::restoreGuestAs(const MigrationId& prepared_for, Attempt attempt) {
  const auto devices = agentDevices(plan_, services_.fabric);
  // A soft-RoCE device is made anew and has counted nothing; a VF comes with what it did for others.
  const bool all_soft =
      std::all_of(devices.begin(), devices.end(), [](const AgentDevice& device) { return device.soft_roce; });
  agent_->restore(prepared_for, devices, services_.config.timeouts.restore,
                  [this, weak = weak_from_this(), attempt, all_soft](Result<RestoreOutcome> result) {
                    const auto self = weak.lock();
                    if (!self) return;
                    if (!result) return restoreFailed(attempt, result.error());
                    guestTookUp(*result);
                    for (const RestoredDevice& device : result->devices) comparePort(device);
                    if (all_soft || !agent_) return answer(Step::kRestoreGuest, attempt, {});
                    agent_->traffic(kLook, [this, weak, attempt](Result<Traffic> traffic) {
                      const auto still = weak.lock();
                      if (!still) return;
                      if (traffic) keepTraffic(kTrafficRestored, traffic_restored_ = *traffic);
                      answer(Step::kRestoreGuest, attempt, {});
                    });
                  });
}

/// The guest cannot bring back what libvirt has not: a removal whose event was missed is seen here.
void ArrivalSession::restoreFailed(Attempt attempt, const Error& why) {
  offload<bool>(
      [this, uuid = plan_.uuid, leases = leases_]() -> Result<bool> {
        const auto xml = services_.hypervisor.xml(uuid, XmlKind::kLive);
        if (!xml) return tl::unexpected(xml.error());
        return std::all_of(leases.begin(), leases.end(),
                           [&](const LeasedVf& lease) { return findDevice(*xml, lease.alias).has_value(); });
      },
      [this, attempt, why](Result<bool> whole) {
        if (!whole || *whole) return answer(Step::kRestoreGuest, attempt, tl::unexpected(why));
        for (const LeasedVf& lease : leases_) onDeviceRemoved(lease.alias);
      });
}

/// What the model promises about the port, and what it is. The VM runs and its device is whole, so it is only
/// said.
void ArrivalSession::comparePort(const RestoredDevice& device) {
  if (!device.port_before || !device.port) return;
  for (const MovingVf& vf : plan_.vfs) {
    if (vf.declaration.alias != device.alias) continue;
    for (const PromiseFinding& finding :
         comparePorts(vf.declaration.model, *device.port_before, *device.port)) {
      note(fmt::format("{}{} ({}): {}", finding.broken ? "warning: " : "", device.alias.str(),
                       toString(vf.declaration.model), finding.sentence));
    }
  }
}

}  // namespace rdmove
