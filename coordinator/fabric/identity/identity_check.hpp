// Why an identity cannot be a VF's: wrong in itself, not for this adapter, or somebody else's on this host.
// Each refusal is one sentence with what to do. Internal to the fabric; nothing is changed, any thread.
#pragma once

#include <vector>

#include "coordinator/fabric/identity/vf_port.hpp"

namespace rdmove::fabric {

/// Zero, all ones, multicast, out of range, twice. kBadInput.
Result<void> checkValues(const Identity& identity);

/// The declared fields and those that this adapter, with this driver, can set and tell. `now` is what it
/// tells. kRefused: the other link layer, RDMA off, no such setting; kIncompatible: it cannot be read back.
Result<void> checkFits(const Identity& identity, const VfPlace& vf, const std::set<Field>& settable,
                       const VfSettings& now);

/// The VF's table that shows `keys` from index 0 on, each at its index in the port's table, and nothing
/// beyond. kRefused: not in the port's table (which may be full), with the other membership, or more than
/// `slots`.
Result<PartitionSlots> slotsFor(const std::vector<PartitionKey>& keys, const std::vector<PartitionKey>& port,
                                std::size_t slots);

/// kConflict when another VF of these PFs, or a PF itself, has one of the addresses. A PF that does not tell
/// is passed over.
Result<void> checkUnique(const Identity& identity, const VfPlace& vf, const std::vector<PfPlace>& pfs,
                         VfPort& port, const SysfsFiles& files);

}  // namespace rdmove::fabric
