// Who has the host's VFs, as libvirt tells it: running domains occupy, definitions claim. Leases are the
// journal's. Blocks on libvirt; any thread but the loop.
#pragma once

#include <map>
#include <set>
#include <string>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"

namespace rdmove {

struct Occupant {
  std::string domain;
  bool live = false;  ///< false: only its persistent definition names the VF
};

/// By the names that Fabric::locate and the definitions use.
Result<std::map<VfName, Occupant>> occupants(Hypervisor& hypervisor, Fabric& fabric);

std::set<VfName> names(const std::map<VfName, Occupant>& occupants);

}  // namespace rdmove
