// An RDMA device in a message of rdma netlink. Internal to rdma_devices.cpp, and tested byte for byte.
#pragma once

#include <netlink/msg.h>

#include <optional>

#include "coordinator/fabric/inventory/rdma_devices.hpp"

namespace rdmove::fabric {

/// One answer to RDMA_NLDEV_CMD_GET; nullopt when it names no device.
std::optional<RdmaDevice> rdmaDeviceOf(nl_msg* answer);

}  // namespace rdmove::fabric
