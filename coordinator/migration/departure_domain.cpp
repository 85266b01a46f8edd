#include "coordinator/migration/departure_domain.hpp"

#include "coordinator/hypervisor/domain_xml.hpp"

namespace rdmove {

namespace {

Result<DomainStatus> active(Hypervisor& hypervisor, const Plan& plan) {
  auto status = hypervisor.find(plan.uuid.str());
  if (!status && status.error().code != ErrorCode::kNotFound) return status;
  if (status && status->state != DomainState::kShutOff && status->state != DomainState::kAbsent) return status;
  return failure(ErrorCode::kNotFound, "move " + plan.domain, "the domain ended on the source meanwhile",
                 "Start it again; its definition is as it was.");
}

}  // namespace

Result<void> stillHere(Hypervisor& hypervisor, const Plan& plan) {
  const auto status = active(hypervisor, plan);
  return status ? Result<void>() : tl::unexpected(status.error());
}

Result<void> staysHere(Hypervisor& hypervisor, const Plan& plan) {
  const auto status = active(hypervisor, plan);
  if (!status) return tl::unexpected(status.error());
  if (!status->migration_job) return {};
  return failure(ErrorCode::kConflict, "put the devices of " + plan.domain + " back", "a migration of it runs",
                 "Wait for it, or end it with virsh domjobabort " + plan.domain + ".");
}

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

}  // namespace rdmove
