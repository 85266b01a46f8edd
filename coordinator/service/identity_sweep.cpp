#include "coordinator/service/identity_sweep.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>

#include "coordinator/migration/host_driver.hpp"
#include "coordinator/preflight/occupancy.hpp"

namespace rdmove {
namespace {

/// Holds the VFs while their identity is taken off: no arrival may lease one meanwhile.
const MigrationId kSweep("identity-sweep");
/// A driver that refused may take it later, and no event tells of that.
constexpr std::chrono::milliseconds kTryAgain{30000};

}  // namespace

IdentitySweep::IdentitySweep(Services& services) : services_(services) {
  if (auto freed = services_.journal.freeLeases(kSweep); !freed)
    spdlog::error("{}", freed.error().sentence());
}

void IdentitySweep::look() {
  again_ = looking_;
  if (looking_) return;
  const auto unfinished = services_.journal.unfinished();
  auto records = identityRecords(services_.journal);
  const auto leases = services_.journal.leases();
  if (!unfinished || !unfinished->empty() || !records || !leases) return;
  for (const LeaseRecord& lease : *leases) records->erase(lease.vf);
  if (records->empty()) return;
  looking_ = true;
  services_.workers.run([this, records = *records, alive = std::weak_ptr<int>(alive_)]() mutable {
    const auto had = occupants(services_.hypervisor, services_.fabric);
    if (had) std::erase_if(records, [&](const auto& each) { return had->contains(each.first); });
    if (!had) records.clear();  // who cannot be asked has them all
    boost::asio::post(services_.loop, [this, records = std::move(records), alive] {
      if (!alive.expired()) takeOff(records);
    });
  });
}

void IdentitySweep::takeOff(IdentityRecords records) {
  std::vector<LeaseRecord> rows;
  for (const auto& [vf, record] : records) {
    LeaseRecord row;
    row.migration = kSweep;
    row.alias = DeviceAlias(vf.str());
    row.vf = vf;
    row.permanent = true;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return done({}, 0);
  if (!services_.journal.lease(rows)) return done({}, rows.size());
  services_.workers.run([this, records = std::move(records), alive = std::weak_ptr<int>(alive_)] {
    std::vector<VfName> taken;
    for (const auto& [vf, record] : records) {
      const auto off = giveUpVf(services_.fabric, services_.hypervisor, vf, Identity{}, record);
      if (off) taken.push_back(vf);
      if (!off) spdlog::warn("vf={} {}", vf.str(), off.error().sentence());
    }
    boost::asio::post(services_.loop, [this, taken = std::move(taken), wanted = records.size(), alive] {
      if (!alive.expired()) done(taken, wanted);
    });
  });
}

void IdentitySweep::done(const std::vector<VfName>& taken, std::size_t wanted) {
  for (const VfName& vf : taken) {
    spdlog::info("vf={} its VM is gone: it is again as it was before", vf.str());
    if (auto forgot = services_.journal.forgetVf(vf); !forgot) spdlog::error("{}", forgot.error().sentence());
  }
  if (auto freed = services_.journal.freeLeases(kSweep); !freed)
    spdlog::error("{}", freed.error().sentence());
  looking_ = false;
  if (taken.size() < wanted) try_again_ = services_.timers.after(kTryAgain, [this] { look(); });
  if (std::exchange(again_, false)) look();
}

}  // namespace rdmove
