// Which VFs of a pool can still be leased. Pure, any thread.
#pragma once

#include <set>
#include <vector>

#include "coordinator/fabric/fabric.hpp"

namespace rdmove {

/// Whether VFIO and libvirt could attach it at all, whoever has it now: its IOMMU group is its own, and its PF
/// is up.
bool attachable(const VfInfo& vf);

/// `all` as Fabric::vfs() has them; `taken` what is leased, claimed or occupied, of any pool. A VF that is
/// taken by name is not free, nor is one that the host itself uses, or that is not attachable. A name
/// "br0#MAC" (an attached NIC) takes one more slot of the pool on that bridge, the highest that is left. A NIC
/// whose own lease is still held must be in `taken` once only, by its lease or by its MAC.
std::vector<VfInfo> freeVfs(const std::vector<VfInfo>& all, const PoolName& pool,
                            const std::set<VfName>& taken);

}  // namespace rdmove
