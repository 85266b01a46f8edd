// What the guest's agent is told of the VFs of a plan: by what it knows them, and what may change.
#pragma once

#include <vector>

#include "coordinator/agentlink/agent_link.hpp"
#include "coordinator/fabric/fabric.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

std::vector<AgentDevice> agentDevices(const Plan& plan, const Fabric& fabric);

}  // namespace rdmove
