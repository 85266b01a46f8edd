// The one real Fabric, with the VFs' identity behind an interface. Internal; tests make it with a port of
// their own.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"
#include "coordinator/fabric/vf_port.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove::fabric {

class PoolFabric : public Fabric {
 public:
  PoolFabric(std::map<PoolName, PoolConfig> pools, std::filesystem::path sysfs_root,
             std::unique_ptr<VfPort> port);

  Result<std::vector<VfInfo>> vfs() override;
  bool hasPool(const PoolName& pool) const override;
  bool softRoce(const PoolName& pool) const override;
  Result<std::string> bind(const VfName& vf, const MovingVf& moving) override;
  Result<void> takeIdentity(const VfName& vf, const Identity& identity) override;
  Result<VfName> locate(const PoolName& pool, const std::string& device_element) override;
  Result<std::vector<VfName>> occupied(const std::string& domain_xml) override;

 private:
  struct Place {
    std::string pf_netdev;
    unsigned index = 0;
  };
  /// The sriov VF with this PCI address among `pool`'s PFs; nullopt when none has it.
  Result<std::optional<Place>> findVf(const PoolConfig& pool, const std::string& pci) const;
  const PoolConfig* bridgePoolOf(const VfName& slot) const;

  std::map<PoolName, PoolConfig> pools_;
  std::filesystem::path sysfs_root_;
  std::unique_ptr<VfPort> port_;
};

}  // namespace rdmove::fabric
