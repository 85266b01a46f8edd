// Subnet over libibmad, from one port of this host. One thread at a time. At a time-out libibmad writes a
// line of its own to standard error, which cannot be switched off.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "coordinator/fabric/subnet/subnet.hpp"

namespace rdmove {

struct MadSubnetOptions {
  std::string adapter;  ///< "mlx5_0"; empty: the first that is active
  int port = 1;
  std::chrono::milliseconds timeout{500};  ///< of one question, tried `tries` times
  int tries = 3;
};

/// kUnavailable: no such adapter, no access to its umad device, the port is not active.
Result<std::unique_ptr<Subnet>> openSubnet(const MadSubnetOptions& options);

}  // namespace rdmove
