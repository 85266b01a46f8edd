// A VF is taken from the host's driver before a VM gets it, ahead of the attach (which then has
// managed='no'), and given back when no VM has it any more. The record of what the VF was before says whether
// a driver had it. Blocks; workers only.
#pragma once

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"

namespace rdmove {

/// Both: success when no driver had it.
Result<void> takeFromHost(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf,
                          const IdentityRecord& record);
/// A VF that is not there any more has no driver either: success.
Result<void> giveToHost(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf,
                        const IdentityRecord& record);

/// Takes the identity off and gives the VF to its host's driver: it is as it was before it was leased. One that is not
/// there any more is. Without a record it had no driver.
Result<void> giveUpVf(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf, const Identity& identity,
                      const std::optional<IdentityRecord>& record);

/// Before a VF is attached that its host's driver may have again: libvirt gave one with managed='yes' back as it was
/// detached, and a host that was started anew has given them all back. Success when no driver has it.
Result<void> takeAgainFromHost(Fabric& fabric, Hypervisor& hypervisor, const VfName& vf);

}  // namespace rdmove
