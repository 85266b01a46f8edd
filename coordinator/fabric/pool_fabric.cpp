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

}  // namespace

PoolFabric::PoolFabric(std::map<PoolName, PoolConfig> pools, HostAccess host)
    : pools_(std::move(pools)),
      host_(std::move(host)),
      inventory_(host_),
      identity_(*host_.files, *host_.port) {}

bool PoolFabric::hasPool(const PoolName& pool) const {
  return pools_.contains(pool);
}

bool PoolFabric::softRoce(const PoolName& pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return false;
  return found->second.kind == PoolConfig::Kind::kBridge || found->second.soft_roce;
}

Result<void> PoolFabric::eachPf(
    const std::function<void(const PoolName&, const std::string&, const SysfsPf&)>& with) const {
  for (const auto& [name, pool] : pools_) {
    if (pool.kind != PoolConfig::Kind::kSriov) continue;
    for (const std::string& named : pool.pfs) {
      const auto pf = readPf(*host_.files, named);
      if (!pf && pf.error().code == ErrorCode::kNotFound)
        continue;  // it takes nothing from the others: doctor names it
      if (!pf) return tl::unexpected<Error>(pf.error());
      with(name, named, *pf);
    }
  }
  return {};
}

Result<std::vector<VfInfo>> PoolFabric::vfs() {
  std::vector<VfInfo> all;
  for (const auto& [name, pool] : pools_) {
    for (int slot = 0; pool.kind == PoolConfig::Kind::kBridge && slot < pool.slots; ++slot) {
      all.push_back(
          {VfName(fmt::format("{}#{}", pool.bridge, slot)), name, "bridge", pool.bridge, {}, {}, {}});
    }
  }
  const auto read = eachPf([&](const PoolName& pool, const std::string& named, const SysfsPf& pf) {
    for (VfInfo& vf : inventory_.vfs(pf, pool, named)) all.push_back(std::move(vf));
  });
  if (!read) return tl::unexpected<Error>(read.error());
  std::stable_sort(all.begin(), all.end(), [](const VfInfo& a, const VfInfo& b) { return a.pool < b.pool; });
  return all;
}

Result<std::vector<PfInfo>> PoolFabric::pfs() {
  std::vector<PfInfo> all;
  const auto read = eachPf([&](const PoolName& pool, const std::string&, const SysfsPf& pf) {
    all.push_back(inventory_.pf(pf, pool));
  });
  if (!read) return tl::unexpected<Error>(read.error());
  return all;
}

Result<VfDetails> PoolFabric::look(const VfName& vf) {
  const std::string attempted = fmt::format("look at {}", vf.str());
  if (const PoolConfig* bridge = bridgePoolOf(vf))
    return VfDetails{{vf, bridge->name, "bridge", bridge->bridge, {}, {}, {}}, std::nullopt, {}};
  std::optional<VfDetails> found;
  const auto read = eachPf([&](const PoolName& pool, const std::string& named, const SysfsPf& pf) {
    for (VfInfo& info : inventory_.vfs(pf, pool, named)) {
      if (info.name != vf) continue;
      const VfPlace place{pf.place, info.index, vf.str()};
      found = VfDetails{std::move(info), inventory_.pf(pf, pool), inventory_.told(place)};
    }
  });
  if (!read) return tl::unexpected<Error>(read.error());
  if (found) return std::move(*found);
  return failure(ErrorCode::kNotFound, attempted, "no pool of this host has it",
                 "`rdmove vf list` names those that are.");
}

const PoolConfig* PoolFabric::bridgePoolOf(const VfName& slot) const {
  const auto hash = slot.str().rfind('#');
  if (hash == std::string::npos) return nullptr;
  for (const auto& [name, pool] : pools_) {
    if (pool.kind == PoolConfig::Kind::kBridge && pool.bridge == slot.str().substr(0, hash)) return &pool;
  }
  return nullptr;
}

Result<std::optional<VfPlace>> PoolFabric::findVf(const PoolConfig& pool, const std::string& pci) const {
  for (const std::string& pf_name : pool.pfs) {
    const auto pf = readPf(*host_.files, pf_name);
    if (!pf && pf.error().code == ErrorCode::kNotFound) continue;
    if (!pf) return tl::unexpected<Error>(pf.error());
    const auto vf =
        std::find_if(pf->vfs.begin(), pf->vfs.end(), [&](const SysfsVf& v) { return v.pci == pci; });
    if (vf != pf->vfs.end()) return VfPlace{pf->place, vf->index, vf->pci};
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
  return std::make_unique<fabric::PoolFabric>(config.pools, fabric::makeHostAccess(sysfs_root));
}

}  // namespace rdmove
