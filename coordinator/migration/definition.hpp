// The persistent definition of a VM that runs on this host: it names the VFs that the VM has here, or its next
// cold start would look for others. Blocks; workers only.
#pragma once

#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

/// Where the definition was made: libvirt's copy of another host's names that one's VFs, in elements that look the
/// same to the guest.
enum class Defined { kForThisHost, kElsewhere };

/// Puts the device of each lease into it, and leaves all else as it is; writes nothing when it is right.
Result<void> correctDefinition(Hypervisor& hypervisor, const DomainUuid& uuid, const std::vector<LeasedVf>& devices,
                               Defined defined);

}  // namespace rdmove
