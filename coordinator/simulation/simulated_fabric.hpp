// The VFs of one host as one coordinator programs them: every call takes its time, so that a kill or a fault
// comes between any two. Called in fibers, but for what only reads the call's arguments.
#pragma once

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class SimulatedFabric : public Fabric {
 public:
  SimulatedFabric(World& world, Host& host) : world_(world), host_(host) {}

  Result<std::vector<VfInfo>> vfs() override;
  Result<std::vector<PfInfo>> pfs() override { return std::vector<PfInfo>(); }
  Result<VfDetails> look(const VfName&) override;
  bool hasPool(const PoolName& pool) const override { return pool == kPool; }
  bool softRoce(const PoolName&) const override { return false; }
  Result<std::string> bind(const VfName&, const MovingVf&) override;
  Result<IdentityRecord> planIdentity(const VfName&, const MovingVf&,
                                      const std::optional<IdentityRecord>& kept) override;
  Result<void> stageIdentity(const VfName&, const MovingVf&, const IdentityRecord&) override;
  Result<void> giveIdentity(const VfName&, const MovingVf&, const IdentityRecord&, Attached) override;
  Result<void> takeIdentity(const VfName&, const Identity&, const std::optional<IdentityRecord>&) override;
  IdentityRecord recordOf(const VfName&, const Identity&) override;
  std::string hostDriver(const IdentityRecord&) override;
  Words wordsOf(const std::string&) override { return {}; }
  Result<VfName> locate(const PoolName&, const std::string& device_element) override;
  Result<std::vector<VfName>> occupied(const std::string& domain_xml) override;

 private:
  Result<VirtualFunction*> touch(const VfName& name, const std::string& attempted);

  World& world_;
  Host& host_;
};

}  // namespace rdmove::simulation
