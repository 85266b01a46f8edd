// The kernel's list of RDMA devices, over rdma netlink (drivers/infiniband/core/nldev.c): what sysfs hides
// from a network namespace that does not have the device, and without a file for each word. Internal to the
// fabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/vf_values.hpp"

namespace rdmove::fabric {

struct RdmaDevice {
  std::string name;      ///< "mlx5_0"
  std::string firmware;  ///< empty: the driver does not tell
  Guid node_guid;
  unsigned ports = 0;
};

class RdmaDevices {
 public:
  virtual ~RdmaDevices() = default;
  /// None on a kernel without RDMA. Blocks shortly, any thread.
  virtual Result<std::vector<RdmaDevice>> list() = 0;
};

std::unique_ptr<RdmaDevices> makeRdmaDevices();

}  // namespace rdmove::fabric
