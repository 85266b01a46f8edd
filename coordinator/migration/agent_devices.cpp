#include "coordinator/migration/agent_devices.hpp"

#include "coordinator/migration/model_promises.hpp"

namespace rdmove {

// A port GUID means InfiniBand: an IPoIB interface has no MAC, and the NIC that carries it in a lab is not
// what is meant.
std::vector<AgentDevice> agentDevices(const Plan& plan, const Fabric& fabric) {
  std::vector<AgentDevice> devices;
  for (const MovingVf& vf : plan.vfs) {
    const VfDeclaration& declaration = vf.declaration;
    devices.push_back({declaration.alias, declaration.identity.mac.value_or(MacAddress{}),
                       fabric.softRoce(declaration.pool), declaration.identity.port_guid,
                       allowsNewGids(declaration.model)});
  }
  return devices;
}

}  // namespace rdmove
