#include "coordinator/fabric/pool_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/fabric/device_source.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"

namespace rdmove::fabric {
namespace {

VfName nicOn(const std::string& bridge, const MacAddress& mac) {
  return VfName(fmt::format("{}#{}", bridge, mac.str()));
}

std::string nameOf(const DeviceSource& device) {
  return device.alias ? device.alias->str() : "the device";
}

/// A VLAN is many VFs' VLAN: it says whose a VF is only where there is no MAC to say it.
bool carries(const VfState& state, const Identity& identity) {
  if (identity.mac) return state.mac == identity.mac;
  return identity.vlan && state.vlan == *identity.vlan;
}

}  // namespace

PoolFabric::PoolFabric(std::map<PoolName, PoolConfig> pools, std::filesystem::path sysfs_root,
                       std::unique_ptr<VfPort> port)
    : pools_(std::move(pools)), sysfs_root_(std::move(sysfs_root)), port_(std::move(port)) {}

bool PoolFabric::hasPool(const PoolName& pool) const {
  return pools_.contains(pool);
}

bool PoolFabric::softRoce(const PoolName& pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return false;
  return found->second.kind == PoolConfig::Kind::kBridge || found->second.soft_roce;
}

Result<std::vector<VfInfo>> PoolFabric::vfs() {
  std::vector<VfInfo> all;
  for (const auto& [name, pool] : pools_) {
    if (pool.kind == PoolConfig::Kind::kBridge) {
      for (int slot = 0; slot < pool.slots; ++slot) {
        all.push_back(
            {VfName(fmt::format("{}#{}", pool.bridge, slot)), name, "bridge", pool.bridge, {}, {}, {}});
      }
      continue;
    }
    for (const std::string& pf_name : pool.pfs) {
      const auto pf = readPf(sysfs_root_, pf_name);
      if (!pf) return tl::unexpected<Error>(pf.error());
      for (const SysfsVf& vf : pf->vfs) {
        VfInfo info{VfName(vf.pci), name, "sriov", pf_name, {}, vf.driver, vf.iommu_group};
        // For display: a PF that does not tell (no netdev, InfiniBand) leaves it open.
        if (const auto state = port_->read(pf->netdev, vf.index)) info.mac = state->mac;
        all.push_back(std::move(info));
      }
    }
  }
  return all;
}

const PoolConfig* PoolFabric::bridgePoolOf(const VfName& slot) const {
  const auto hash = slot.str().rfind('#');
  if (hash == std::string::npos) return nullptr;
  for (const auto& [name, pool] : pools_) {
    if (pool.kind == PoolConfig::Kind::kBridge && pool.bridge == slot.str().substr(0, hash)) return &pool;
  }
  return nullptr;
}

Result<std::optional<PoolFabric::Place>> PoolFabric::findVf(const PoolConfig& pool,
                                                            const std::string& pci) const {
  for (const std::string& pf_name : pool.pfs) {
    const auto pf = readPf(sysfs_root_, pf_name);
    if (!pf) return tl::unexpected<Error>(pf.error());
    const auto vf =
        std::find_if(pf->vfs.begin(), pf->vfs.end(), [&](const SysfsVf& v) { return v.pci == pci; });
    if (vf != pf->vfs.end()) return Place{pf->netdev, vf->index};
  }
  return std::nullopt;
}

Result<std::string> PoolFabric::bind(const VfName& vf, const MovingVf& moving) {
  const VfDeclaration& wanted = moving.declaration;
  const std::string attempted = fmt::format("bind {} to {}", wanted.alias.str(), vf.str());
  const auto pool = pools_.find(wanted.pool);
  if (pool == pools_.end()) {
    return failure(ErrorCode::kNotFound, attempted,
                   fmt::format("this host has no pool {}", wanted.pool.str()), "Add it to rdmoved.toml.");
  }
  const auto stranger = [&] {
    return failure(ErrorCode::kNotFound, attempted, fmt::format("it is not of pool {}", wanted.pool.str()),
                   "`rdmove vf list` names those that are.");
  };
  if (pool->second.kind == PoolConfig::Kind::kBridge) {
    if (bridgePoolOf(vf) != &pool->second) return stranger();
    return bindToBridge(moving.device_xml, pool->second.bridge);
  }
  const auto place = findVf(pool->second, vf.str());
  if (!place) return tl::unexpected<Error>(place.error());
  if (!place->has_value()) return stranger();
  return bindToVf(moving.device_xml, vf.str(), wanted.identity.vlan);
}

Result<void> PoolFabric::takeIdentity(const VfName& vf, const Identity& identity) {
  const std::string attempted = fmt::format("take the identity off {}", vf.str());
  if (vf.str().find('#') != std::string::npos) {
    if (bridgePoolOf(vf) == nullptr)
      return failure(ErrorCode::kNotFound, attempted, "no pool of this host is on that bridge");
    // The MAC was QEMU's, behind a tap that is gone with the device. What the bridge still has in its
    // forwarding table ages out, or moves with the first frame from the other host.
    return {};
  }
  if (identity.node_guid || identity.port_guid) {
    return failure(ErrorCode::kRefused, attempted, "InfiniBand GUIDs are not programmed by this version",
                   "Move the VM with its device detached.");
  }
  for (const auto& [name, pool] : pools_) {
    if (pool.kind != PoolConfig::Kind::kSriov) continue;
    const auto place = findVf(pool, vf.str());
    if (!place) return tl::unexpected<Error>(place.error());
    if (!place->has_value()) continue;
    const Place& at = **place;
    if (at.pf_netdev.empty())
      return failure(ErrorCode::kUnavailable, attempted, "its PF has no network interface");
    const auto before = port_->read(at.pf_netdev, at.index);
    if (!before) return tl::unexpected<Error>(before.error());
    // libvirt puts back what an interface hostdev's VF had before: then there is nothing to take, and what is
    // there stays.
    if (!carries(*before, identity)) return {};
    if (auto cleared = port_->clear(at.pf_netdev, at.index); !cleared) return cleared;
    const auto left = port_->read(at.pf_netdev, at.index);
    if (!left) return tl::unexpected<Error>(left.error());
    if (carries(*left, identity) || left->vlan != 0) {
      return failure(ErrorCode::kConflict, attempted,
                     fmt::format("after that the PF still tells MAC {} and VLAN {}",
                                 left->mac ? left->mac->str() : "none", left->vlan),
                     fmt::format("See `ip link show {}`: something else programs this VF.", at.pf_netdev));
    }
    return {};
  }
  return failure(ErrorCode::kNotFound, attempted, "no pool of this host has it",
                 "`rdmove vf list` names those that are.");
}

Result<VfName> PoolFabric::locate(const PoolName& pool, const std::string& device_element) {
  const std::string attempted = fmt::format("find a device in pool {}", pool.str());
  const auto found = pools_.find(pool);
  if (found == pools_.end()) {
    return failure(ErrorCode::kNotFound, attempted, "this host has no such pool", "Add it to rdmoved.toml.");
  }
  const auto device = readDeviceSource(device_element);
  if (!device) return tl::unexpected<Error>(device.error());
  if (found->second.kind == PoolConfig::Kind::kBridge) {
    if (device->bridge != found->second.bridge) {
      return failure(
          ErrorCode::kNotFound, attempted,
          fmt::format("{} is on {}, the pool is bridge {}", nameOf(*device),
                      device->bridge ? "bridge " + *device->bridge : "no bridge", found->second.bridge));
    }
    if (!device->mac)
      return failure(ErrorCode::kBadInput, attempted, fmt::format("{} has no MAC address", nameOf(*device)));
    return nicOn(*device->bridge, *device->mac);
  }
  if (!device->pci) {
    return failure(ErrorCode::kNotFound, attempted,
                   fmt::format("{} is no PCI device of this host", nameOf(*device)));
  }
  const auto place = findVf(found->second, *device->pci);
  if (!place) return tl::unexpected<Error>(place.error());
  if (!place->has_value()) {
    return failure(ErrorCode::kNotFound, attempted,
                   fmt::format("{} is {}, no VF of the pool's PFs", nameOf(*device), *device->pci));
  }
  return VfName(*device->pci);
}

Result<std::vector<VfName>> PoolFabric::occupied(const std::string& domain_xml) {
  const auto domain = readDomainDevices(domain_xml);
  if (!domain) return tl::unexpected<Error>(domain.error());
  DomainDeclaration declared;
  if (!domain->metadata.empty()) {
    // Somebody else's broken metadata must not stop this: its hostdevs count, its NICs are nobody's.
    if (auto parsed = parseDeclaration(domain->metadata)) declared = std::move(*parsed);
  }
  std::vector<VfName> names;
  for (const DeviceSource& device : domain->devices) {
    for (const auto& [name, pool] : pools_) {
      if (pool.kind == PoolConfig::Kind::kBridge) {
        const bool ours = std::any_of(declared.vfs.begin(), declared.vfs.end(),
                                      [&, &pool_name = name](const VfDeclaration& vf) {
                                        return vf.pool == pool_name && device.alias == vf.alias;
                                      });
        if (ours && device.bridge == pool.bridge && device.mac)
          names.push_back(nicOn(pool.bridge, *device.mac));
      } else if (device.pci) {
        const auto place = findVf(pool, *device.pci);
        if (!place) return tl::unexpected<Error>(place.error());
        if (place->has_value()) names.emplace_back(*device.pci);
      }
    }
  }
  return names;
}

}  // namespace rdmove::fabric

namespace rdmove {

std::unique_ptr<Fabric> makeFabric(const Config& config, const std::filesystem::path& sysfs_root) {
  return std::make_unique<fabric::PoolFabric>(config.pools, sysfs_root, fabric::makeNetlinkVfPort());
}

}  // namespace rdmove
