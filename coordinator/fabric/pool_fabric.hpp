// The one real Fabric, with all that it looks at and writes to behind interfaces. Internal; tests make it
// with their own.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/identity/vf_identity.hpp"
#include "coordinator/fabric/inventory/inventory.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove::fabric {

class PoolFabric : public Fabric {
 public:
  PoolFabric(std::map<PoolName, PoolConfig> pools, HostAccess host);

  Result<std::vector<VfInfo>> vfs() override;
  Result<std::vector<PfInfo>> pfs() override;
  Result<VfDetails> look(const VfName& vf) override;
  bool hasPool(const PoolName& pool) const override;
  bool softRoce(const PoolName& pool) const override;
  Result<std::string> bind(const VfName& vf, const MovingVf& moving) override;
  Result<IdentityRecord> planIdentity(const VfName& vf, const MovingVf& moving,
                                      const std::optional<IdentityRecord>& kept) override;
  Result<void> stageIdentity(const VfName& vf, const MovingVf& moving, const IdentityRecord& record) override;
  Result<void> giveIdentity(const VfName& vf, const MovingVf& moving, const IdentityRecord& record,
                            Attached attached) override;
  Result<void> takeIdentity(const VfName& vf, const Identity& identity,
                            const std::optional<IdentityRecord>& kept) override;
  IdentityRecord recordOf(const VfName& vf, const Identity& identity) override;
  std::string hostDriver(const IdentityRecord&) override;
  Result<void> returnToDriver(const VfName&, const IdentityRecord&) override;
  Words wordsOf(const std::string& record_text) override;
  Result<VfName> locate(const PoolName& pool, const std::string& device_element) override;
  Result<std::vector<VfName>> occupied(const std::string& domain_xml) override;

 private:
  /// The sriov VF with this PCI address among `pool`'s PFs; nullopt when none has it.
  Result<std::optional<VfPlace>> findVf(const PoolConfig& pool, const std::string& pci) const;
  /// Calls `with` for each PF of the sriov pools, until one is not there.
  Result<void> eachPf(
      const std::function<void(const PoolName&, const std::string& named, const SysfsPf&)>& with) const;
  /// The same in any pool, kNotFound when there is none.
  Result<VfPlace> placeOf(const VfName& vf, const std::string& attempted) const;
  const PoolConfig* bridgePoolOf(const VfName& slot) const;
  Result<bool> onBridge(const VfName& vf, const std::string& attempted) const;

  std::map<PoolName, PoolConfig> pools_;
  HostAccess host_;
  Inventory inventory_;
  VfIdentity identity_;
};

}  // namespace rdmove::fabric
