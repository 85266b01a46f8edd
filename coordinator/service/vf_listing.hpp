// rdmove vf list: every VF of the host's pools, and who has it: nobody, a lease, a running domain, a
// definition. Blocks on libvirt; any thread but the loop.
#pragma once

#include <vector>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove {

Result<std::vector<v1::VfStatus>> listVfs(Hypervisor& hypervisor, Fabric& fabric,
                                          const std::vector<LeaseRecord>& leases);

}  // namespace rdmove
