// rdmove vf list and vf show: every VF of the host's pools, and who has it: nobody, a lease, a running
// domain, a definition, the host itself. Blocks on libvirt; any thread but the loop.
#pragma once

#include <vector>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove {

Result<std::vector<v1::VfStatus>> listVfs(Hypervisor& hypervisor, Fabric& fabric,
                                          const std::vector<LeaseRecord>& leases);

v1::PfStatus toMessage(const PfInfo& pf);

/// kNotFound when no pool has a VF of that name. `records` is what the journal has of it.
Result<v1::ShowVfReply> showVf(Hypervisor& hypervisor, Fabric& fabric, const std::vector<LeaseRecord>& leases,
                               const std::vector<VfRecord>& records, const VfName& name);

}  // namespace rdmove
