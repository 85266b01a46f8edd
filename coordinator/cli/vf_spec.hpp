// The value of `rdmove define --vf`: "alias=ua-rdma0,pool=fabric[,model=M][,continuity=C][,mac=MAC][,vlan=N]
// [,node-guid=GUID][,port-guid=GUID][,pkeys=KEY/KEY]", and the other attributes of the metadata's <identity>.
// Plain value and pure functions, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/base/types.hpp"
#include "coordinator/base/vf_values.hpp"
#include "coordinator/cli/values.hpp"

namespace rdmove::cli {

struct VfSpec {
  DeviceAlias alias;
  PoolName pool;
  std::optional<Model> model;            ///< absent: the daemon's default
  std::optional<Continuity> continuity;  ///< absent: the daemon's default
  std::optional<MacAddress> mac;         ///< absent: as the device has it
  std::optional<std::uint32_t> vlan;
  std::optional<Guid> node_guid;
  std::optional<Guid> port_guid;
  std::vector<PartitionKey> pkeys;
  /// trust, spoof-check, link, min-rate, max-rate, vlan-priority, vlan-protocol: read by the daemon.
  std::map<std::string, std::string> settings;
};

/// Every key once, none unknown, alias and pool present.
Reading<VfSpec> readVfSpec(std::string_view text);

}  // namespace rdmove::cli
