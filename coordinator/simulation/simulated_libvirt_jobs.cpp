// The run state of a domain and its migration, in simulated libvirt. What must never be asked of libvirt is
// noticed here, whatever comes of it.
#include <fmt/format.h>

#include "coordinator/simulation/live_migration.hpp"
#include "coordinator/simulation/simulated_libvirt.hpp"

namespace rdmove::simulation {

Result<void> SimulatedLibvirt::migrate(const MigrationRequest& request) {
  const std::string attempted = "migrate " + request.domain.str();
  const auto target = on(request.domain, attempted);
  if (!target) return tl::unexpected(target.error());
  if (auto free = waitForJob(request.domain, attempted); !free) return free;
  const Domain* domain = host_.domain(request.domain);
  if (domain->device)
    return failure(ErrorCode::kRefused, attempted, "cannot migrate a domain with a VFIO device");
  if (!domain->runs()) return failure(ErrorCode::kRefused, attempted, "the domain is paused");
  const auto result = std::make_shared<Result<void>>();
  world_.fibers.await([&](std::function<void()> wake) {
    const auto job = std::make_shared<LiveMigration>(world_, host_, target->guest, request,
                                                     [result, wake = std::move(wake)](Result<void> ended) {
                                                       *result = std::move(ended);
                                                       wake();
                                                     });
    std::erase_if(world_.transfers, [](const auto& each) { return each->over(); });
    world_.transfers.push_back(job);
    job->start();
  });
  return *result;
}

Result<void> SimulatedLibvirt::startPostcopy(const DomainUuid& uuid) {
  const auto target = on(uuid, "switch to post-copy");
  if (!target) return tl::unexpected(target.error());
  for (const auto& job : world_.transfers) {
    if (job->of(uuid) && job->startPostcopy()) return {};
  }
  return failure(ErrorCode::kRefused, "switch to post-copy", "no migration copies memory");
}

Result<void> SimulatedLibvirt::abortJob(const DomainUuid& uuid) {
  const auto target = on(uuid, "abort the job");
  if (!target) return tl::unexpected(target.error());
  const auto jobs = world_.transfers;
  for (const auto& job : jobs) {
    if (job->of(uuid)) job->abort();
  }
  return {};
}

Result<JobProgress> SimulatedLibvirt::progress(const DomainUuid& uuid) {
  const auto target = on(uuid, "read the progress");
  if (!target) return tl::unexpected(target.error());
  JobProgress progress;
  progress.active = target->domain.job == Job::kOutgoing;
  return progress;
}

Result<void> SimulatedLibvirt::resume(const DomainUuid& uuid) {
  const auto target = on(uuid, "resume " + uuid.str());
  if (!target) return tl::unexpected(target.error());
  if (auto free = waitForJob(uuid, "resume " + uuid.str()); !free) return free;
  return done(milliseconds(2), [&world = world_, &host = host_, uuid]() -> Result<void> {
    Domain* domain = host.domain(uuid);
    if (domain == nullptr || !domain->active())
      return failure(ErrorCode::kRefused, "resume", "it is not active");
    if (domain->runs()) return {};
    if (world.guest(uuid)->lives_on != host.number)
      world.broken(
          {"a copy of the past is not resumed", world.guest(uuid)->name + " has run at the partner since"});
    domain->state = DomainState::kRunning;
    domain->reason = RunReason::kOther;
    world.say(fmt::format("{}: {} is resumed", host.name.str(), world.guest(uuid)->name));
    world.lifecycle(host, uuid, Lifecycle::kResumed, LifecycleDetail::kOther);
    return {};
  });
}

Result<void> SimulatedLibvirt::suspend(const DomainUuid& uuid) {
  const auto target = on(uuid, "suspend " + uuid.str());
  if (!target) return tl::unexpected(target.error());
  if (auto free = waitForJob(uuid, "suspend " + uuid.str()); !free) return free;
  return done(milliseconds(2), [&world = world_, &host = host_, uuid]() -> Result<void> {
    Domain* domain = host.domain(uuid);
    if (domain == nullptr || !domain->active())
      return failure(ErrorCode::kRefused, "suspend", "it is not active");
    if (!domain->runs()) return {};
    domain->state = DomainState::kPaused;
    domain->reason = RunReason::kOther;
    world.say(fmt::format("{}: {} is paused", host.name.str(), world.guest(uuid)->name));
    world.lifecycle(host, uuid, Lifecycle::kSuspended, LifecycleDetail::kOther);
    return {};
  });
}

Result<void> SimulatedLibvirt::destroy(const DomainUuid& uuid) {
  const auto target = on(uuid, "destroy " + uuid.str());
  if (!target) return tl::unexpected(target.error());
  return done(milliseconds(5), [&world = world_, &host = host_, uuid]() -> Result<void> {
    const Domain* domain = host.domain(uuid);
    if (domain == nullptr || !domain->active()) return {};
    if (world.guest(uuid)->lives_on == host.number && !world.guest(uuid)->ended)
      world.broken({"a VM is never lost", world.guest(uuid)->name + " itself was destroyed"});
    world.endDomain(host, uuid, LifecycleDetail::kOther);
    return {};
  });
}

Result<void> SimulatedLibvirt::undefine(const DomainUuid& uuid) {
  const auto target = on(uuid, "undefine " + uuid.str(), false);
  if (!target) return tl::unexpected(target.error());
  if (target->domain.active()) {
    target->domain.definition.reset();
  } else {
    host_.domains.erase(uuid);
  }
  return {};
}

}  // namespace rdmove::simulation
