// The Hypervisor of hypervisor.hpp over libvirt. Made once by the daemon, after its LibvirtEventLoop,
// destroyed before it; close the channels first. Calls are made from workers and block.
#pragma once

#include <memory>
#include <string>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/hypervisor/libvirt_event_loop.hpp"

namespace rdmove {

/// Fails when libvirt cannot be reached at `uri` now. Later losses are healed by themselves: onConnection
/// tells. onConnection(true) comes after the first connection, too.
Result<std::unique_ptr<Hypervisor>> makeLibvirtHypervisor(const std::string& uri, LibvirtEventLoop& loop,
                                                          HypervisorListener& listener);

}  // namespace rdmove
