// Who on this host declares which addresses: in the metadata of all domains, shut-off ones too. An address of
// two VMs would be live twice as soon as both run, which a look at the adapters shows too late.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

struct IdentityClaim {
  std::string domain;
  DomainUuid uuid;
  Identity identity;
};

/// Of all domains whose metadata can be read; asks libvirt once for each domain.
Result<std::vector<IdentityClaim>> identityClaims(Hypervisor& hypervisor);

/// "port GUID 00:02:c9:03:00:77:00:01 is declared by vm2, too": the first address of `identity` that another
/// domain than `uuid` declares. A MAC, or a node or port GUID.
std::optional<std::string> claimedTwice(const Identity& identity, const DomainUuid& uuid,
                                        const std::vector<IdentityClaim>& claims);

}  // namespace rdmove
