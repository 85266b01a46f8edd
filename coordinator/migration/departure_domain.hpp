// Looks at the domain that a departure moves, on its source. They block; workers only.
#pragma once

#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

/// kNotFound when the domain does not run here any more.
Result<void> stillHere(Hypervisor& hypervisor, const Plan& plan);
/// Likewise, and kConflict while a migration of it runs.
Result<void> staysHere(Hypervisor& hypervisor, const Plan& plan);
/// The VFs of the plan that the live XML does not show.
Result<std::vector<MovingVf>> missing(Hypervisor& hypervisor, const Plan& plan);

}  // namespace rdmove
