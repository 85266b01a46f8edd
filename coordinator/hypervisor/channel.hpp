// A byte stream to a virtio-serial port in the guest. Owned by whoever opened it; closing or destroying it
// never blocks. The listener is called on the hypervisor's thread and must only post; it may be called before
// the opening call returns, and never after close(). Do not close while holding a lock that the listener
// takes.
#pragma once

#include <string>
#include <string_view>

#include "coordinator/base/result.hpp"

namespace rdmove {

class ChannelListener {
 public:
  virtual ~ChannelListener() = default;
  virtual void onBytes(std::string_view bytes) = 0;
  /// The stream ended: the domain left, libvirtd went, or the guest's side was closed. Called once, last.
  virtual void onClosed(const std::string& why) = 0;
};

class ByteChannel {
 public:
  virtual ~ByteChannel() = default;
  /// Queues all of the bytes, at most 1 MiB outstanding; kExhausted when the guest does not read.
  virtual Result<void> send(std::string bytes) = 0;
  virtual void close() = 0;
};

}  // namespace rdmove
