// One libvirt stream to a guest's virtio-serial port as a ByteChannel. Private to the libvirt_*.cpp files.
// Each has a connection of its own: a guest that does not read fills the requests that libvirtd serves on
// one.
#pragma once

#include <memory>
#include <string>

#include "coordinator/hypervisor/channel.hpp"
#include "coordinator/hypervisor/libvirt_handles.hpp"
#include "coordinator/hypervisor/libvirt_workers.hpp"

namespace rdmove {

/// `domain` is of `connection`. The listener may be called before this returns.
Result<std::unique_ptr<ByteChannel>> openLibvirtChannel(ConnectionRef connection, virDomainPtr domain,
                                                        const std::string& port, ChannelListener& listener,
                                                        std::shared_ptr<LibvirtWorkers> workers);

}  // namespace rdmove
