// Who wants to hear of migrations. Sessions publish on the loop thread; subscribers are called there and must
// only hand on (a gRPC stream puts it into its queue).
#pragma once

#include <string>

#include "coordinator/base/board.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/journal/journal.hpp"

namespace rdmove {

struct Update {
  MigrationRecord record;
  JobProgress progress;
  std::string message;
  std::string partner_phase{};  ///< of a departure: what its arrival has just entered
};

using Bulletin = Board<Update>;

}  // namespace rdmove
