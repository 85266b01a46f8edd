// The memory of a channel's frames, one piece: messages to send, control frames to send, frames to receive.
// Slots start on cache lines. It knows nothing of devices; its owner registers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <span>

#include "guestagent/failover/channel/frame.hpp"
#include "guestagent/failover/channel/link.hpp"

namespace rdmove::failover::channel {

/// Where a slab's memory comes from: at least so many bytes, on a cache line, with anything in them.
using MemorySource = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

inline std::shared_ptr<std::byte> own_memory(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine));
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, [](std::byte* at) { std::free(at); }};
}

class Slab {
 public:
  static constexpr std::uint32_t kControlSlots = 8;

  struct Shape {
    std::uint32_t send_limit = 0;  ///< bytes of a message
    std::uint32_t send_slots = 0;
    std::uint32_t receive_limit = 0;
    std::uint32_t receive_slots = 0;
  };

  Slab(const Shape& shape, const MemorySource& source)
      : send_size_(slot_size(shape.send_limit)),
        receive_size_(slot_size(shape.receive_limit)),
        control_at_(send_size_ * shape.send_slots),
        receive_at_(control_at_ + slot_size(0) * kControlSlots),
        bytes_(receive_at_ + receive_size_ * shape.receive_slots),
        memory_(source(bytes_)) {
    std::memset(memory_.get(), 0, bytes_);  // what a device can read was not somebody else's
  }

  [[nodiscard]] std::byte* send_slot(std::uint32_t i) const { return memory_.get() + i * send_size_; }
  [[nodiscard]] std::byte* control_slot(std::uint32_t i) const {
    return memory_.get() + control_at_ + i * slot_size(0);
  }
  [[nodiscard]] std::span<std::byte> receive_slot(ReceiveSlot slot) const {
    return {memory_.get() + receive_at_ + static_cast<std::size_t>(slot) * receive_size_, receive_size_};
  }
  [[nodiscard]] std::byte* address() const { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t slot_size(std::size_t limit) {
    const std::size_t payload = limit < kControlPayload ? kControlPayload : limit;
    return (kHeaderBytes + payload + kLine - 1) / kLine * kLine;
  }
  std::size_t send_size_;
  std::size_t receive_size_;
  std::size_t control_at_;
  std::size_t receive_at_;
  std::size_t bytes_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace rdmove::failover::channel
