// The drivers' counters under the names that an administrator looks for. Which counter of which driver is
// which name, and in which unit: the table in docs/agent-protocol.md, "counters"; change both together. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "guestagent/agent/rdma_links.hpp"
#include "guestagent/protocol/traffic.hpp"

namespace rdmove::agent {

/// `counters` by the kernel's names, the interface's prefixed "netdev_". What a driver does not count is
/// absent, except that data falls back to the interface's bytes.
protocol::PortTraffic traffic_of(const std::map<std::string, std::uint64_t>& counters);

/// Of all devices, now.
std::vector<protocol::DeviceTraffic> traffic_of(RdmaLinks& links);

}  // namespace rdmove::agent
