// Preflight: everything that would fail late, looked at early, on this host, at the partner and in the guest,
// as one list. Blocks; called from workers and from gRPC threads, never from the loop (it waits for answers
// there).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/migration/agent_desk.hpp"
#include "coordinator/migration/plan.hpp"
#include "coordinator/preflight/adapter_checks.hpp"
#include "coordinator/preflight/finding.hpp"
#include "coordinator/preflight/host_room.hpp"

namespace boost::asio {
class io_context;
}

namespace rdmove {

class Fabric;
class Hypervisor;
class Partners;
struct Config;
struct PartnerConfig;
struct PoolTrouble;

struct Examination {
  std::vector<Finding> findings;
  std::optional<Plan> plan;                  ///< set when no finding is an error
  std::map<DeviceAlias, VfName> source_vfs;  ///< what each device occupies here
};

class Examiner {
 public:
  Examiner(boost::asio::io_context& loop, Hypervisor& hypervisor, Fabric& fabric, Partners& partners,
           AgentDesk& agents, const Config& config);
  virtual ~Examiner() = default;

  /// May this domain move there? `request` names domain, destination, options and id; the rest is filled in.
  /// Devices that it names are owed to the domain by an arrival: they need not be there.
  Examination examine(const Plan& request);
  /// The domain, its metadata and its agent, without a destination.
  std::vector<Finding> examineDomain(const Plan& request);
  /// The destination's part, asked by a partner: pools, free VFs, the domain's absence.
  std::vector<Finding> examineArrival(const Plan& plan, const HostName& source,
                                      const std::vector<VfName>& leased_vfs, const SourceFacts& facts = {});
  /// What this host has for VMs of that partner. kRefused when it knows no such partner.
  Result<HostRoom> room(const HostName& partner, const std::vector<VfName>& leased_vfs);
  /// This host alone.
  std::vector<Finding> examineHost();

 protected:
  /// Who in the guest has an RDMA device open and cannot be asked to let go; an error if the agent does not answer.
  /// Waits for it on the caller's thread; the simulation waits in its own way.
  virtual Result<std::vector<Holdout>> holdoutsIn(const DomainUuid& uuid);

 private:
  struct Look;  // one examination in the making
  struct Room;
  void lookAtDomain(Look& look);
  void findDomain(Look& look);
  void readDeclaration(Look& look);
  void findDevice(Look& look, const VfDeclaration& vf);
  void checkMemory(Look& look);
  void askAgent(Look& look);
  void askPartner(Look& look);
  SourceFacts factsOf(const Look& look) const;
  void examineRoom(Look& look, const PartnerConfig& partner, const std::vector<VfName>& leased_vfs);
  void examineIdentities(Look& look);
  void examinePool(Look& look, const Room& room, const PoolName& pool, const std::vector<MovingVf>& wanted);
  void examinePools(Look& look);
  std::vector<PoolTrouble> troublesOf(const Room& room, const PoolName& pool) const;

  boost::asio::io_context& loop_;
  Hypervisor& hypervisor_;
  Fabric& fabric_;
  Partners& partners_;
  AgentDesk& agents_;
  const Config& config_;
};

}  // namespace rdmove
