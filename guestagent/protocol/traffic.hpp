// An RDMA port's traffic under names that do not depend on its driver. The page: docs/agent-protocol.md,
// "counters".
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rdmove::protocol {

struct PortTraffic {
  std::string data_of;  // what data_in and data_out count: "port", "interface" (all traffic of it), or empty
  std::map<std::string, std::uint64_t> values;  // data_in and data_out in bytes; a driver may lack any
  auto operator<=>(const PortTraffic&) const = default;
};

/// One port's, when the raw counters are not told along.
struct DeviceTraffic {
  std::string rdma;
  std::uint32_t port = 1;
  PortTraffic traffic;
  auto operator<=>(const DeviceTraffic&) const = default;
};

}  // namespace rdmove::protocol
