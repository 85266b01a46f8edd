// The other end of an RDMA connection, from the kernel's own record of it: what of its address says which
// host or guest it is. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rdmove::agent {

/// `storage` is a sockaddr of `bytes` bytes, as RDMA_NLDEV_ATTR_RES_DST_ADDR has it: IPv4, IPv6, or AF_IB,
/// whose address is a GID. Without a port. None for another family, one that is cut, and the unspecified
/// address of an id that listens.
std::optional<std::string> remote_address(const void* storage, std::size_t bytes);

}  // namespace rdmove::agent
