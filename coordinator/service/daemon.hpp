// rdmoved: puts the parts together, serves until SIGTERM or SIGINT, and stops cleanly: what runs is journaled
// and said, and libvirt's own transfer goes on without us.
#pragma once

#include <memory>

#include "coordinator/base/result.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove {

/// Runs until it is told to stop. An error is a start that was refused; nothing was changed then.
Result<void> runDaemon(const Config& config);

}  // namespace rdmove
