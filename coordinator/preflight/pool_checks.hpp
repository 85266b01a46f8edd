// What an operator must know of a pool before a VM comes to it: how many VFs it has left and who has the
// others, and what of its adapters would fail late. Pure, any thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/preflight/finding.hpp"
#include "coordinator/preflight/occupancy.hpp"

namespace rdmove {

struct PoolConfig;

/// Each VF counts once, by the first of these that holds for it, from the last to the first.
struct PoolCount {
  std::size_t free = 0;
  std::size_t host = 0;     ///< a process of the host uses them
  std::size_t bare = 0;     ///< no IOMMU group, so VFIO cannot have them
  std::size_t shared = 0;   ///< the host has another device of their IOMMU group
  std::size_t off = 0;      ///< their PF is administratively down
  std::size_t claimed = 0;  ///< only a definition names them
  std::size_t leased = 0;
  std::size_t running = 0;  ///< running domains have them
  std::set<std::string> claimants{};
};

PoolCount countPool(const std::vector<VfInfo>& all, const PoolName& pool,
                    const std::map<VfName, Occupant>& occupants, const std::set<VfName>& leased);

/// "1 free, 2 with running VMs, 1 claimed (vm3)"; what is 0 is left out, but for the free ones.
std::string toString(const PoolCount& count);

struct PoolTrouble {
  std::string pf;  ///< as the pool's configuration calls it
  Finding finding;
};

/// What of an sriov pool's adapters and VFs would fail late: a PF that is not there, has no VFs, is switched off or
/// down, or has RDMA off; VFs without an IOMMU group of their own. Codes: pf-gone, pf-without-vfs, pf-off,
/// pf-down (a warning: a cable may come), rdma-off, no-iommu, shared-iommu-group. A bridge pool has none.
std::vector<PoolTrouble> poolTroubles(const PoolConfig& pool, const std::vector<PfInfo>& pfs,
                                      const std::vector<VfInfo>& vfs, const std::string& host);

/// May a device of this model come to an adapter with this link layer? "unknown" may.
bool fits(Model model, const std::string& link_layer);

/// The only model that the adapter of this VF has; nothing if its driver does not tell.
std::optional<Model> modelOf(const VfInfo& vf);

}  // namespace rdmove
