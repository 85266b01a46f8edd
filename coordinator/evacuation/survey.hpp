// What an evacuation has to know before it plans: which VMs of this host have devices that move, what each
// needs, and what room the destinations have. Asks libvirt and the partners, so it blocks: workers only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/evacuation/plan.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/migration/partner.hpp"

namespace rdmove::evacuation {

struct Candidate {
  Need need;            ///< its peers are asked of the guests, elsewhere
  std::string why_not;  ///< not empty: it cannot move as it is
};

/// What the destinations said when they were asked.
struct Rooms {
  std::vector<HostRoom> rooms;
  std::map<HostName, std::string> silent;  ///< who said nothing, and why
};

/// The VMs with rdma metadata that are not shut off, by name. Those that are shut off stay defined here, and
/// are told as findings. `busy`: VMs with a migration that is not over, and its id.
Result<std::vector<Candidate>> candidates(Hypervisor& hypervisor, const HostName& host,
                                          const std::map<DomainUuid, MigrationId>& busy,
                                          std::vector<Finding>& findings);

/// In the order of `destinations`.
Rooms askRooms(Partners& partners, const std::vector<HostName>& destinations);

}  // namespace rdmove::evacuation
