// A VF taken from its host driver and given back: mlx5 reads a GUID only when it takes the device. Internal
// to the fabric; blocks while the driver probes, any thread.
#pragma once

#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/fabric/sysfs_files.hpp"

namespace rdmove::fabric {

/// Empty when no driver has it.
std::string driverOf(const SysfsFiles& files, const std::string& pci);
/// A driver that makes an RDMA device of a VF on this host, other than vfio-pci and pci-stub.
bool isHostDriver(const std::string& driver);
/// Both are read back, and success when it is so already. kConflict when another driver has the device.
Result<void> unbindDriver(SysfsFiles& files, const std::string& pci, const std::string& driver);
Result<void> bindDriver(SysfsFiles& files, const std::string& pci, const std::string& driver);

}  // namespace rdmove::fabric
