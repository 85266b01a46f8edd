// The persistent definition of a VM that runs on this host: it names the VFs that the VM has here, or its next
// cold start would look for others. Blocks; workers only.
#pragma once

#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

/// Puts the device of each lease into it, and leaves all else as it is; writes nothing when it is right. A mover's
/// copy of another host's definition names that one's VFs, in elements that look the same to the guest.
Result<void> correctDefinition(Hypervisor& hypervisor, const DomainUuid& uuid, const std::vector<LeasedVf>& devices);

}  // namespace rdmove
