// The identity's way through an arrival: planned and staged with the leases, live at the plug, and off again
// when the VM does not come.
#include <spdlog/spdlog.h>

#include "coordinator/migration/arrival_session.hpp"
#include "coordinator/migration/host_driver.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {

void ArrivalSession::bindLeases(Attempt attempt) {
  const auto kept = identityRecords(services_.journal);
  if (!kept) return refuseLeases(attempt, kept.error());
  offload<BoundVfs>(
      [this, plan = plan_, leases = leases_, kept = *kept]() -> Result<BoundVfs> {
        BoundVfs bound{leases, {}};
        for (std::size_t i = 0; i < bound.leases.size(); ++i) {
          LeasedVf& lease = bound.leases[i];
          auto element = services_.fabric.bind(lease.vf, plan.vfs[i]);
          if (!element) return tl::unexpected(element.error());
          lease.device_xml = std::move(*element);
          auto record = services_.fabric.planIdentity(lease.vf, plan.vfs[i], recordOf(kept, lease.vf));
          if (!record) return tl::unexpected(record.error());
          if (!record->empty()) bound.records[lease.vf] = std::move(*record);
        }
        return bound;
      },
      [this, attempt](Result<BoundVfs> bound) {
        if (!bound) return refuseLeases(attempt, bound.error());
        leases_ = bound->leases;
        Result<void> durable =
            services_.journal.setFact(record_.id, record_.role, "leases", leasesToJson(leases_));
        for (const auto& [vf, record] : bound->records) {
          if (durable) durable = keepRecord(services_.journal, record_.id, vf, record);
        }
        if (!durable) return refuseLeases(attempt, durable.error());
        stageIdentities(attempt, std::move(bound->records));
      });
}

void ArrivalSession::refuseLeases(Attempt attempt, const Error& why) {
  (void)services_.journal.freeLeases(record_.id);
  answer(Step::kStage, attempt, tl::unexpected(why));
}

void ArrivalSession::stageIdentities(Attempt attempt, IdentityRecords records) {
  if (records.empty()) return leasesAreReady(attempt);
  offload<void>(
      [this, plan = plan_, leases = leases_, records]() -> Result<void> {
        for (std::size_t i = 0; i < leases.size(); ++i) {
          const auto record = recordOf(records, leases[i].vf);
          if (!record) continue;
          if (auto free = takeFromHost(services_.fabric, services_.hypervisor, leases[i].vf, *record); !free)
            return free;
          auto staged = services_.fabric.stageIdentity(leases[i].vf, plan.vfs[i], *record);
          if (!staged) return staged;
        }
        return {};
      },
      [this, attempt](Result<void> staged) {
        if (staged) return leasesAreReady(attempt);
        takeStaged(
            [this, attempt, why = staged.error()](const Result<void>&) { refuseLeases(attempt, why); });
      });
}

void ArrivalSession::leasesAreReady(Attempt attempt) {
  armHold();
  answer(Step::kStage, attempt, {});
  if (!reserved_) return;
  auto reserved = std::move(reserved_);
  reserved_ = nullptr;
  reserved(leases_);
}

/// Off every VF that has a record of ours, which ends with that; `then` runs on the loop.
void ArrivalSession::takeStaged(std::function<void(Result<void>)> then) {
  auto records = identityRecords(services_.journal);
  if (!records) return later([then, error = records.error()] { then(tl::unexpected(error)); });
  std::erase_if(*records, [this](const auto& each) {
    return std::none_of(leases_.begin(), leases_.end(),
                        [&](const LeasedVf& lease) { return lease.vf == each.first; });
  });
  if (records->empty()) return later([then] { then({}); });
  offload<void>(
      [this, plan = plan_, leases = leases_, records = *records]() -> Result<void> {
        for (std::size_t i = 0; i < leases.size(); ++i) {
          const auto record = recordOf(records, leases[i].vf);
          if (!record) continue;
          auto given_up = giveUpVf(services_.fabric, services_.hypervisor, leases[i].vf,
                                   plan.vfs[i].declaration.identity, record);
          if (!given_up) return given_up;
        }
        return {};
      },
      [this, then, records = *records](Result<void> taken) {
        for (const auto& [vf, record] : records) {
          if (taken) taken = services_.journal.forgetVf(vf);
        }
        then(taken);
      });
}

/// A VM that is here keeps its VF, and the journal what that was before. One that is defined here keeps it
/// too, for when it is started again. A plug that is under way may yet make the identity live: nobody is to look for
/// it before.
void ArrivalSession::unstage(Attempt attempt) {
  if (plugs_) {
    unstages_after_ = attempt;
    return;
  }
  const bool leaves = record_.phase == "Unstaging" || (record_.phase == "Abandoning" && !plan_.persistent);
  const auto free = [this, attempt](const Result<void>& taken) {
    answer(Step::kUnstage, attempt, taken ? services_.journal.freeLeases(record_.id) : taken);
  };
  if (leaves) return takeStaged(free);
  later([free] { free({}); });
}

}  // namespace rdmove
