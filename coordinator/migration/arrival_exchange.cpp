// A VF that cannot be attached is set aside, and another one of its pool is taken in its place.
#include <fmt/format.h>

#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/arrival_session.hpp"
#include "coordinator/migration/host_driver.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {
namespace {

/// What fails once may be a moment's doing: a driver that is not done yet, a group that is still held.
constexpr int kTries = 2;
/// When so many have failed it is the host, and others need the VFs that are left.
constexpr std::size_t kMostSetAside = 2;

/// A failed attach may have come through after all.
Result<void> isMissing(Hypervisor& hypervisor, const Plan& plan, const DeviceAlias& alias) {
  const auto live = hypervisor.xml(plan.uuid, XmlKind::kLive);
  if (!live) return tl::unexpected(live.error());
  const auto device = findDevice(*live, alias);
  if (!device && device.error().code == ErrorCode::kNotFound) return {};
  if (!device) return tl::unexpected(device.error());
  return failure(ErrorCode::kConflict, "take another VF for " + alias.str(), "the domain has its device");
}

}  // namespace

void ArrivalSession::vfFailed(Attempt attempt, std::size_t index, const Error& why) {
  SetAside& tries = vfs_that_failed_[leases_[index].vf];
  tries.why = why.cause;
  const auto fail = [this, attempt, index, why] { plugged(attempt, tl::unexpected(allTried(index, why))); };
  if (++tries.count < kTries || vfs_that_failed_.size() > kMostSetAside) return fail();
  offload<HostVfs>(
      [this, plan = plan_, alias = leases_[index].alias]() -> Result<HostVfs> {
        if (auto missing = isMissing(services_.hypervisor, plan, alias); !missing)
          return tl::unexpected(missing.error());
        return hostVfs();
      },
      [this, attempt, index, why, fail](Result<HostVfs> vfs) {
        if (superseded_ || unstages_after_ || !vfs) return fail();
        const auto next = another(index, std::move(*vfs));
        if (!next) return fail();
        exchange(attempt, index, *next, why);
      });
}

/// Leased, if there is one. The one that failed stays leased as well, so that nobody gets it before this is over.
std::optional<VfName> ArrivalSession::another(std::size_t index, HostVfs vfs) {
  const auto leased = services_.journal.leases();
  if (!leased) return std::nullopt;
  for (const LeaseRecord& lease : *leased) vfs.taken.insert(lease.vf);
  const LeasedVf& old = leases_[index];
  std::erase_if(vfs.all, [](const VfInfo& vf) { return vf.kind == "bridge"; });  // where one fails all do
  const auto free = freeVfs(vfs.all, old.pool, vfs.taken);
  if (free.empty()) return std::nullopt;
  const LeaseRecord row = leaseOf(old.alias, old.pool, free.front().name);
  if (!services_.journal.lease({row})) return std::nullopt;
  return row.vf;
}

/// The identity is off the old one, read back, before it is planned for the new one. The journal knows what the new
/// one was before it names it, and what the old one was until it does not name that any more; what is left over of
/// either when the daemon is killed in between is swept as any VF that nobody has.
void ArrivalSession::exchange(Attempt attempt, std::size_t index, const VfName& next, const Error& why) {
  const auto records = identityRecords(services_.journal);
  if (!records) return plugged(attempt, tl::unexpected(records.error()));
  const VfName old = leases_[index].vf;
  offload<BoundVfs>(
      [this, plan = plan_, index, lease = leases_[index], next, records = *records]() -> Result<BoundVfs> {
        const MovingVf& moving = plan.vfs[index];
        auto given_up = giveUpVf(services_.fabric, services_.hypervisor, lease.vf, moving.declaration.identity,
                                 recordOf(records, lease.vf));
        if (!given_up) return tl::unexpected(given_up.error());
        BoundVfs bound{{lease}, {}};
        bound.leases[0].vf = next;
        auto element = services_.fabric.bind(next, moving);
        if (!element) return tl::unexpected(element.error());
        bound.leases[0].device_xml = std::move(*element);
        auto record = services_.fabric.planIdentity(next, moving, recordOf(records, next));
        if (!record) return tl::unexpected(record.error());
        bound.records[next] = std::move(*record);
        return bound;
      },
      [this, attempt, index, next, old, why](Result<BoundVfs> bound) {
        if (superseded_) return plugged(attempt, tl::unexpected(why));
        if (!bound) {
          vfs_that_failed_[next] = {kTries, bound.error().cause};
          return plugged(attempt, tl::unexpected(bound.error()));
        }
        const IdentityRecord& record = bound->records.at(next);
        auto leases = leases_;
        leases[index] = bound->leases[0];
        auto durable = record.empty() ? Result<void>() : keepRecord(services_.journal, record_.id, next, record);
        if (durable)
          durable = services_.journal.setFact(record_.id, record_.role, "leases", leasesToJson(leases));
        if (!durable) return plugged(attempt, tl::unexpected(durable.error()));
        leases_ = std::move(leases);
        (void)services_.journal.forgetVf(old);  // else the sweep does
        look_at_drivers_ = true;
        note(fmt::format("warning: {} cannot be attached: {} {} is tried in its place.", old.str(), why.cause,
                         next.str()));
        plugged(attempt, tl::unexpected(why));
      });
}

/// Names every VF that was tried, when there were several.
Error ArrivalSession::allTried(std::size_t index, Error why) const {
  if (vfs_that_failed_.size() < 2) return why;
  std::string each;
  for (const auto& [vf, tries] : vfs_that_failed_)
    each += fmt::format("{}{}: {}", each.empty() ? "" : "; ", vf.str(), tries.why);
  why.cause = fmt::format("none of the VFs that were tried of pool {} can be attached ({})",
                          leases_[index].pool.str(), each);
  return why;
}

}  // namespace rdmove
