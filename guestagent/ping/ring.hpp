// What one-sided operations of a connection go to and come from: a place for each of the last messages, by
// their number, in memory that is registered under one name. A place is used again when the message that it
// was for is acknowledged: then a write that was asked for before that message is done, and comes no more
// (docs/librdmove.md), so whatever is found there that is not the message's is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rdmove::ping {

inline constexpr std::size_t kPlaces = 32;
inline constexpr const char* kRingName = "ping-ring";  ///< the server's, which the client writes and reads
inline constexpr const char* kSourceName = "ping-source";  ///< the client's own: what it writes
inline constexpr const char* kReadName = "ping-read";      ///< the client's own: what it has read

/// What a client does beside its messages. On the wire in its introduction: do not renumber.
struct OneSided {
  bool write = false;  ///< before each message, its content into the server's ring
  bool read = false;   ///< after each answer, its content out of there
  [[nodiscard]] bool is_any() const { return write || read; }
  [[nodiscard]] std::uint32_t to_word() const { return (write ? 1U : 0U) | (read ? 2U : 0U); }
  static OneSided from_word(std::uint32_t word) { return {(word & 1U) != 0, (word & 2U) != 0}; }
};

class Ring {
 public:
  explicit Ring(std::size_t size) : size_(size), memory_(kPlaces * size) {}
  [[nodiscard]] std::size_t offset(std::uint64_t number) const { return number % kPlaces * size_; }
  [[nodiscard]] std::span<std::byte> place(std::uint64_t number) {
    return std::span(memory_).subspan(offset(number), size_);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::vector<std::byte>& memory() { return memory_; }

 private:
  const std::size_t size_;
  std::vector<std::byte> memory_;
};

}  // namespace rdmove::ping
