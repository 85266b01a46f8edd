// What room a host has for VMs of a partner's. Asked by an evacuation, which plans with it. Plain value.
#pragma once

#include <cstdint>
#include <map>

#include "coordinator/base/types.hpp"

namespace rdmove {

struct HostRoom {
  HostName host;
  std::map<PoolName, unsigned> free_vfs;  ///< of the pools that the asking partner may use
  std::uint64_t memory_kib = 0;           ///< that no process has, page cache included
  unsigned cpus = 0;
  unsigned vcpus = 0;  ///< of the VMs that run there
  bool operator==(const HostRoom&) const = default;
};

}  // namespace rdmove
