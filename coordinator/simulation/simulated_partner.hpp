// The partner API without gRPC: the same calls and the same stream over the simulated network, into the other
// host's real coordinator. A call that gets no answer in its time fails, whatever became of it there.
#pragma once

#include "coordinator/migration/partner.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class SimulatedPartner : public Partner, public Partners {
 public:
  SimulatedPartner(World& world, Host& client, CoordinatorProcess& process)
      : world_(world), client_(client), server_(world.other(client)), process_(process) {}

  Result<Partner*> find(const HostName& name) override;
  Result<void> hello() override;
  Result<std::vector<Finding>> examine(const Plan& plan, const SourceFacts& facts) override;
  Result<HostRoom> room() override;
  Result<std::vector<LeasedVf>> reserve(const Plan& plan, milliseconds hold) override;
  Result<void> releaseIdentity(const MigrationId& id, const Traffic& before) override;
  Result<WithdrawAnswer> withdraw(const MigrationId& id, bool source_runs) override;
  std::unique_ptr<Following> follow(const MigrationId& id, std::function<void(ArrivalReport)> report,
                                    std::function<void(Error)> broken) override;

 private:
  template <class T>
  using Done = std::function<void(Result<T>)>;
  /// From a fiber: `serve` runs on the server's loop, if it arrives there.
  template <class T>
  Result<T> call(const std::string& attempted, std::function<void(CoordinatorProcess&, Done<T>)> serve);

  World& world_;
  Host& client_;
  Host& server_;
  CoordinatorProcess& process_;
};

}  // namespace rdmove::simulation
