// What room a host has for the VMs of a partner that is to be emptied.
#include <fmt/format.h>

#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/partner.hpp"
#include "coordinator/preflight/look.hpp"
#include "coordinator/preflight/occupancy.hpp"

namespace rdmove {
namespace {

Result<unsigned> runningVcpus(Hypervisor& hypervisor) {
  const auto domains = hypervisor.list();
  if (!domains) return tl::unexpected(domains.error());
  unsigned vcpus = 0;
  for (const DomainStatus& domain : *domains) {
    if (domain.state == DomainState::kShutOff) continue;
    const auto xml = hypervisor.xml(domain.uuid, XmlKind::kLive);
    if (!xml) continue;  // it went away meanwhile
    if (const auto size = domainSize(*xml)) vcpus += size->vcpus;
  }
  return vcpus;
}

}  // namespace

Result<HostRoom> Examiner::room(const HostName& name, const std::vector<VfName>& leased_vfs) {
  const auto partner = config_.partners.find(name);
  if (partner == config_.partners.end()) {
    return failure(ErrorCode::kRefused, "",
                   fmt::format("{} does not know the host {}", config_.host.str(), name.str()),
                   fmt::format("Add [partners.{}] to rdmoved.toml on {}.", name.str(), config_.host.str()));
  }
  const auto all = fabric_.vfs();
  if (!all) return tl::unexpected(all.error());
  const auto occupied = occupants(hypervisor_, fabric_);
  if (!occupied) return tl::unexpected(occupied.error());
  const auto size = hypervisor_.hostSize();
  if (!size) return tl::unexpected(size.error());
  const auto vcpus = runningVcpus(hypervisor_);
  if (!vcpus) return tl::unexpected(vcpus.error());
  std::set<VfName> taken = names(*occupied);
  taken.insert(leased_vfs.begin(), leased_vfs.end());
  HostRoom room{config_.host, {}, size->free_memory_kib, size->cpus, *vcpus};
  for (const PoolName& pool : partner->second.pools) {
    if (fabric_.hasPool(pool)) room.free_vfs[pool] = static_cast<unsigned>(freeVfs(*all, pool, taken).size());
  }
  return room;
}

}  // namespace rdmove
