// Verify, the last step of an arrival that can fail: both definitions are right. Then a look at the guest,
// which is only said: are its applications connected again, and do its RDMA counters show it?
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/alias_grant.hpp"
#include "coordinator/migration/arrival_session.hpp"
#include "coordinator/migration/definition.hpp"
#include "coordinator/migration/traffic.hpp"

namespace rdmove {
namespace {

constexpr std::chrono::milliseconds kLook{2000};
/// Applications that lost their connections get so long to have them back before the look: an operator waits
/// for the end of the migration.
constexpr std::chrono::milliseconds kConnect{2000};
/// So long the fabric gets to know the VM at its new place.
constexpr std::chrono::milliseconds kFabric{5000};
/// Each look takes CPU from a guest that is just connecting.
constexpr std::chrono::milliseconds kLookAgain{250};

bool allConnected(const std::vector<AgentApplication>& applications) {
  return std::all_of(applications.begin(), applications.end(),
                     [](const AgentApplication& each) { return each.up >= each.connections; });
}

std::string connectionsUp(const std::vector<AgentApplication>& applications) {
  unsigned long long up = 0;
  unsigned long long all = 0;
  for (const AgentApplication& each : applications) {
    up += each.up;
    all += each.connections;
  }
  return fmt::format("{} of {} connections of {} applications are up", up, all, applications.size());
}

}  // namespace

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
        const auto status = services_.hypervisor.find(plan.uuid.str());
        if (!status) return tl::unexpected(status.error());
        if (!status->persistent) {
          // Another mover decides itself whether it is defined here.
          if (!plan.persistent || plan.mover == Mover::kAnother) return {};
          return failure(ErrorCode::kUnavailable, "verify the definition of " + plan.domain,
                         "libvirt has not made it persistent here yet");
        }
        return correctDefinition(services_.hypervisor, plan.uuid, leases);
      },
      [this, attempt](Result<void> result) {
        if (!result) return answer(Step::kVerify, attempt, std::move(result));
        lookAtFabric(attempt);
      });
}

void ArrivalSession::lookAtFabric(Attempt attempt) {
  offload<std::vector<std::string>>(
      [this, leases = leases_]() -> Result<std::vector<std::string>> {
        auto said = fabric_watch_.after(plan_, kFabric);
        const auto patience = patienceOf(kFabric);
        for (const LeasedVf& lease : leases) {
          const auto moving =
              std::find_if(plan_.vfs.begin(), plan_.vfs.end(),
                           [&](const MovingVf& vf) { return vf.declaration.alias == lease.alias; });
          if (moving == plan_.vfs.end()) continue;
          if (auto warning = aliasNotGranted(services_.fabric, lease.vf, moving->declaration, *patience))
            said.push_back(std::move(*warning));
        }
        return said;
      },
      [this, attempt](Result<std::vector<std::string>> said) {
        for (const std::string& sentence : said.value_or(std::vector<std::string>())) note(sentence);
        connected_by_ = services_.clock.now().boot + kConnect;
        lookAtApplications(attempt);
      });
}

void ArrivalSession::lookAtApplications(Attempt attempt) {
  if (superseded_ || machine_.ended()) return;
  if (!agent_) agent_ = services_.agents.link(plan_.uuid);
  agent_->applications(
      kLook, [this, weak = weak_from_this(), attempt](Result<std::vector<AgentApplication>> applications) {
        const auto self = weak.lock();
        if (!self || machine_.phase() != "Verifying") return;  // over meanwhile
        const bool late = services_.clock.now().boot >= connected_by_;
        if (!applications || late || allConnected(*applications)) {
          // An agent that is too old to say it has nobody to wait for.
          return lookAtTraffic(attempt, applications.value_or(std::vector<AgentApplication>()));
        }
        verify_again_ = services_.timers.after(kLookAgain, [this, weak, attempt] {
          if (const auto still = weak.lock()) lookAtApplications(attempt);
        });
      });
}

/// After the applications: to read all counters takes a guest some ms, which it had better things to do with.
void ArrivalSession::lookAtTraffic(Attempt attempt, const std::vector<AgentApplication>& applications) {
  if (!agent_) return;
  agent_->traffic(kLook, [this, weak = weak_from_this(), attempt, applications](Result<Traffic> traffic) {
    const auto self = weak.lock();
    if (!self || machine_.phase() != "Verifying") return;
    if (!applications.empty()) note(connectionsUp(applications));
    if (!traffic) {
      note("the guest's counters are not known: " + traffic.error().sentence());
      return answer(Step::kVerify, attempt, {});
    }
    traffic_after_ = bounded(*traffic);
    keepTraffic(kTrafficAfter, traffic_after_);
    if (const auto warning = trafficWarning(traffic_restored_, traffic_after_, applications)) {
      spdlog::warn("migration={} phase={} {}", record_.id.str(), record_.phase, *warning);
      note(*warning);
    }
    answer(Step::kVerify, attempt, {});
  });
}

void ArrivalSession::keepTraffic(const char* name, const Traffic& traffic) {
  if (!traffic.empty()) keepFact(name, trafficToJson(traffic));
}

void ArrivalSession::keepFact(const char* name, const std::string& value) {
  const auto kept = services_.journal.setFact(record_.id, record_.role, name, value);
  if (!kept) spdlog::error("migration={} journal: {}", record_.id.str(), kept.error().sentence());
}

}  // namespace rdmove
