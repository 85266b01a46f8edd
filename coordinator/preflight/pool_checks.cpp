#include "coordinator/preflight/pool_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove {

PoolCount countPool(const std::vector<VfInfo>& all, const PoolName& pool,
                    const std::map<VfName, Occupant>& occupants, const std::set<VfName>& leased) {
  PoolCount count;
  std::set<VfName> taken = names(occupants);
  taken.insert(leased.begin(), leased.end());
  count.free = freeVfs(all, pool, taken).size();
  std::size_t members = 0;
  for (const VfInfo& vf : all) {
    if (vf.pool != pool) continue;
    ++members;
    const auto occupant = occupants.find(vf.name);
    if (occupant != occupants.end() && occupant->second.live) {
      ++count.running;
    } else if (leased.contains(vf.name)) {
      ++count.leased;
    } else if (occupant != occupants.end()) {
      ++count.claimed;
      count.claimants.insert(occupant->second.domain);
    } else if (!vf.users.empty()) {
      ++count.host;
    } else if (vf.kind == "sriov" && !vf.iommu_group) {
      ++count.bare;
    } else if (!attachable(vf)) {
      ++(vf.group_holders.empty() ? count.off : count.shared);
    }
  }
  // NICs on a bridge take slots without naming one.
  const std::size_t named =
      count.free + count.host + count.bare + count.shared + count.off + count.claimed + count.leased + count.running;
  if (members > named) count.running += members - named;
  return count;
}

std::string toString(const PoolCount& count) {
  std::string text = fmt::format("{} free", count.free);
  if (count.running > 0) text += fmt::format(", {} with running VMs", count.running);
  if (count.leased > 0) text += fmt::format(", {} leased", count.leased);
  if (count.claimed > 0)
    text += fmt::format(", {} claimed ({})", count.claimed, fmt::join(count.claimants, ", "));
  if (count.bare > 0) text += fmt::format(", {} without an IOMMU group", count.bare);
  if (count.shared > 0) text += fmt::format(", {} in a shared IOMMU group", count.shared);
  if (count.off > 0) text += fmt::format(", {} of a PF that is down", count.off);
  if (count.host > 0) text += fmt::format(", {} used by this host", count.host);
  return text;
}

std::vector<PoolTrouble> poolTroubles(const PoolConfig& pool, const std::vector<PfInfo>& pfs,
                                      const std::vector<VfInfo>& vfs, const std::string& host) {
  std::vector<PoolTrouble> troubles;
  if (pool.kind != PoolConfig::Kind::kSriov) return troubles;
  const auto add = [&](const std::string& pf, Severity severity, const char* code, std::string sentence,
                       std::string remedy) {
    troubles.push_back({pf, {severity, code, std::move(sentence), std::move(remedy), host}});
  };
  for (const std::string& named : pool.pfs) {
    const auto pf = std::find_if(pfs.begin(), pfs.end(), [&](const PfInfo& one) {
      return one.pool == pool.name && (one.netdev == named || one.pci == named);
    });
    if (pf == pfs.end()) {
      add(named, Severity::kError, "pf-gone",
          fmt::format("PF {} of pool {} is not there.", named, pool.name.str()),
          fmt::format("Load its driver, or correct pfs of [pools.{}].", pool.name.str()));
      continue;
    }
    if (pf->vfs == 0) {
      add(named, Severity::kError, "pf-without-vfs",
          fmt::format("PF {} of pool {} has no VFs.", named, pool.name.str()),
          fmt::format("Write their number, at most {}, to /sys/bus/pci/devices/{}/sriov_numvfs.",
                      pf->most_vfs, pf->pci));
    }
    if (pf->rdma.empty() && !pool.soft_roce) {
      add(named, Severity::kError, "rdma-off",
          fmt::format("PF {} of pool {} has no RDMA device.", named, pool.name.str()),
          "Load the RDMA driver beside the network driver, and switch RDMA on (devlink dev param, "
          "enable_roce). "
          "An adapter without RDMA needs soft_roce = true.");
    }
    if (pf->switched_off) {
      add(named, Severity::kError, "pf-off",
          fmt::format("PF {} is switched off: none of its VFs can be attached.", named),
          fmt::format("`ip link set {} up`.", pf->netdev));
    } else if (pf->link == "down") {
      add(named, Severity::kWarning, "pf-down", fmt::format("The link of PF {} is down.", named),
          "Look at cable and switch port.");
    }
  }
  const auto bare = std::find_if(vfs.begin(), vfs.end(), [&](const VfInfo& vf) {
    return vf.pool == pool.name && vf.kind == "sriov" && !vf.iommu_group;
  });
  if (bare != vfs.end()) {
    add(bare->parent, Severity::kError, "no-iommu",
        fmt::format("VF {} is in no IOMMU group.", bare->name.str()),
        "Switch the IOMMU on in the firmware and for the kernel (intel_iommu=on; AMD's is on by itself).");
  }
  const auto shared = std::find_if(vfs.begin(), vfs.end(), [&](const VfInfo& vf) {
    return vf.pool == pool.name && !vf.group_holders.empty();
  });
  if (shared != vfs.end()) {
    add(shared->parent, Severity::kError, "shared-iommu-group",
        fmt::format("VF {} shares IOMMU group {} with {}, which the host uses.", shared->name.str(),
                    shared->iommu_group.value_or(0), fmt::join(shared->group_holders, ", ")),
        "Put the adapter behind a port with ACS (another slot), or take the other device's driver off "
        "(driverctl).");
  }
  return troubles;
}

std::optional<Model> modelOf(const VfInfo& vf) {
  if (vf.link_layer == "Ethernet") return Model::kRoce;
  if (vf.pf_driver == "mlx4_core") return Model::kSharedPort;
  if (vf.pf_driver == "mlx5_core") return Model::kVirtualSwitch;
  return std::nullopt;
}

bool fits(Model model, const std::string& link_layer) {
  if (link_layer != "Ethernet" && link_layer != "InfiniBand") return true;
  return (model == Model::kRoce) == (link_layer == "Ethernet");
}

}  // namespace rdmove
