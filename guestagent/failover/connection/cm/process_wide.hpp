// What the loops of a process share because librdmacm has it once for a process. Nothing else in the library
// is global.
#pragma once

#include "guestagent/failover/connection/cm/async_router.hpp"
#include "guestagent/failover/connection/cm/context_registry.hpp"

namespace rdmove::failover::conn {

struct ProcessWide {
  ContextRegistry contexts;
  AsyncRouter events;
  /// Over librdmacm and libibverbs; never destroyed, since threads may outlive main().
  static ProcessWide& instance();
};

}  // namespace rdmove::failover::conn
