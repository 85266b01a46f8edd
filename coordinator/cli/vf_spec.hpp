// The value of `rdmove define --vf`: "alias=ua-rdma0,pool=fabric[,model=M][,continuity=C][,mac=MAC]".
// Plain value and pure functions, any thread.
#pragma once

#include <optional>
#include <string_view>

#include "coordinator/base/types.hpp"
#include "coordinator/cli/values.hpp"

namespace rdmove::cli {

struct VfSpec {
  DeviceAlias alias;
  PoolName pool;
  std::optional<Model> model;            ///< absent: the daemon's default
  std::optional<Continuity> continuity;  ///< absent: the daemon's default
  std::optional<MacAddress> mac;         ///< absent: as the device has it
};

/// Every key once, none unknown, alias and pool present.
Reading<VfSpec> readVfSpec(std::string_view text);

}  // namespace rdmove::cli
