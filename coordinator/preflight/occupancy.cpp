#include "coordinator/preflight/occupancy.hpp"

#include "coordinator/hypervisor/domain_xml.hpp"

namespace rdmove {
namespace {

/// Nothing when the domain went away meanwhile, and its claims with it. A libvirtd that does not answer is no such
/// word: a VF that looked free then would be taken off the VM that has it.
Result<std::optional<std::string>> xmlOf(Hypervisor& hypervisor, const DomainUuid& uuid, XmlKind kind) {
  auto xml = hypervisor.xml(uuid, kind);
  if (xml) return std::optional(std::move(*xml));
  if (xml.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  return tl::unexpected(xml.error());
}

}  // namespace

Result<std::map<VfName, Occupant>> occupants(Hypervisor& hypervisor, Fabric& fabric) {
  std::map<VfName, Occupant> found;
  const auto domains = hypervisor.list();
  if (!domains) return tl::unexpected(domains.error());
  for (const DomainStatus& domain : *domains) {
    if (domain.persistent) {
      const auto xml = xmlOf(hypervisor, domain.uuid, XmlKind::kInactive);
      if (!xml) return tl::unexpected(xml.error());
      if (!*xml) continue;
      const auto claims = claimedVfs(**xml);
      if (!claims) return tl::unexpected(claims.error());
      // Who has it running comes before who only names it, in whatever order libvirt lists them.
      for (const std::string& vf : *claims) found.try_emplace(VfName(vf), Occupant{domain.name, false});
    }
    if (domain.state == DomainState::kShutOff) continue;
    const auto xml = xmlOf(hypervisor, domain.uuid, XmlKind::kLive);
    if (!xml) return tl::unexpected(xml.error());
    if (!*xml) continue;
    const auto taken = fabric.occupied(**xml);
    if (!taken) return tl::unexpected(taken.error());
    for (const VfName& vf : *taken) found[vf] = {domain.name, true};
  }
  return found;
}

std::set<VfName> names(const std::map<VfName, Occupant>& occupants) {
  std::set<VfName> set;
  for (const auto& [name, occupant] : occupants) set.insert(name);
  return set;
}

}  // namespace rdmove
