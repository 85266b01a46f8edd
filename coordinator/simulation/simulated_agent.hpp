// The guest's agent as one coordinator talks to it: it hears while its VM runs on this host, and is asked
// again until the deadline. Loop thread of its coordinator.
#pragma once

#include "coordinator/agentlink/agent_link.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class SimulatedAgents : public AgentLinks {
 public:
  SimulatedAgents(World& world, Host& host, std::function<void(std::function<void()>)> on_loop,
                  milliseconds grace)
      : world_(world), host_(host), on_loop_(std::move(on_loop)), grace_(grace) {}
  std::unique_ptr<AgentLink> open(const DomainUuid& uuid) override;

 private:
  World& world_;
  Host& host_;
  std::function<void(std::function<void()>)> on_loop_;
  milliseconds grace_;
};

/// Does its agent hear this host now?
bool agentHears(const World& world, Host& host, const DomainUuid& uuid);

}  // namespace rdmove::simulation
