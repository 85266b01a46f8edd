#include "coordinator/migration/host_driver.hpp"

namespace rdmove {

Result<void> takeFromHost(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf,
                          const IdentityRecord& record) {
  if (fabric.hostDriver(record).empty()) return {};
  return hypervisor.takeFromHost(vf.str());
}

Result<void> giveToHost(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf,
                        const IdentityRecord& record) {
  if (fabric.hostDriver(record).empty()) return {};
  auto given = hypervisor.giveToHost(vf.str());
  if (!given && given.error().code == ErrorCode::kNotFound) return {};
  return given ? fabric.returnToDriver(vf, record) : given;
}

Result<void> giveUpVf(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf, const Identity& identity,
                      const std::optional<IdentityRecord>& record) {
  if (auto taken = fabric.takeIdentity(vf, identity, record); !taken && taken.error().code != ErrorCode::kNotFound)
    return taken;
  return record ? giveToHost(fabric, hypervisor, vf, *record) : Result<void>();
}

Result<void> takeAgainFromHost(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf) {
  const auto details = fabric.look(vf);
  if (!details || details->vf.kind != "sriov") return {};  // the attach says what is wrong with it
  if (details->vf.driver.empty() || details->vf.driver == "vfio-pci") return {};
  return hypervisor.takeFromHost(vf.str());
}

}  // namespace rdmove
