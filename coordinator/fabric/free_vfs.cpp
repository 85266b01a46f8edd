#include "coordinator/fabric/free_vfs.hpp"

#include <algorithm>

namespace rdmove {
namespace {

/// "br0" of "br0#52:54:00:77:00:01"; empty for a numbered slot or a PCI address.
std::string bridgeOfNic(const VfName& name) {
  const auto hash = name.str().rfind('#');
  if (hash == std::string::npos || !MacAddress::parse(name.str().substr(hash + 1))) return {};
  return name.str().substr(0, hash);
}

}  // namespace

bool attachable(const VfInfo& vf) {
  return vf.kind == "bridge" || (vf.iommu_group && vf.group_holders.empty() && !vf.pf_switched_off);
}

std::vector<VfInfo> freeVfs(const std::vector<VfInfo>& all, const PoolName& pool,
                            const std::set<VfName>& taken) {
  std::vector<VfInfo> free;
  std::set<std::string> bridges;
  for (const VfInfo& vf : all) {
    if (vf.pool != pool) continue;
    if (vf.kind == "bridge") bridges.insert(vf.parent);
    if (attachable(vf) && !taken.contains(vf.name) && vf.users.empty()) free.push_back(vf);
  }
  const auto nics = std::count_if(taken.begin(), taken.end(),
                                  [&](const VfName& name) { return bridges.contains(bridgeOfNic(name)); });
  free.resize(free.size() - std::min(free.size(), static_cast<std::size_t>(nics)));
  return free;
}

}  // namespace rdmove
