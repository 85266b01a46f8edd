// What an operator asked for when a host is to be emptied. Plain value; its JSON: record_json.hpp.
#pragma once

#include <vector>

#include "coordinator/evacuation/plan.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove::evacuation {

inline constexpr unsigned kMostParallel = 16;  ///< each transfer takes one of the daemon's workers

struct Request {
  std::vector<HostName> destinations;  ///< none: all partners of the configuration
  Limits limits;
  MigrationOptions options;  ///< of each migration
};

}  // namespace rdmove::evacuation
