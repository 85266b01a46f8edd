// What each model promises about a port after a move, and what became of it. The page: docs/models.md.
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "coordinator/base/subnet_port.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

struct PromiseFinding {
  bool broken = false;   ///< the model promises otherwise: a warning. Else a note: allowed, and worth knowing
  std::string sentence;  ///< "the LID is 44 and was 27: …"
  bool operator==(const PromiseFinding&) const = default;
};

/// In the order GIDs, LID, P_Keys; nothing about what is as it was.
std::vector<PromiseFinding> comparePorts(Model model, const SubnetPort& before, const SubnetPort& after);

/// Whether another device's GIDs are a result that the guest may go on with.
bool allowsNewGids(Model model);

}  // namespace rdmove
