#include "coordinator/migration/definition.hpp"

#include "coordinator/hypervisor/domain_xml.hpp"

namespace rdmove {

Result<void> correctDefinition(Hypervisor& hypervisor, const DomainUuid& uuid, const std::vector<LeasedVf>& devices) {
  auto inactive = hypervisor.xml(uuid, XmlKind::kInactive);
  if (!inactive) return tl::unexpected(inactive.error());
  std::string wanted = std::move(*inactive);
  bool wrong = false;
  for (const LeasedVf& lease : devices) {
    const auto device = findDevice(wanted, lease.alias);
    if (device && sameForGuest(device->element, lease.device_xml) && sameOnHost(device->element, lease.device_xml))
      continue;
    wrong = true;
    auto replaced = replaceDevice(wanted, lease.alias, lease.device_xml);
    if (!replaced) return tl::unexpected(replaced.error());
    wanted = std::move(*replaced);
  }
  return wrong ? hypervisor.define(wanted) : Result<void>();
}

}  // namespace rdmove
