// What rdmove-ping sends: a number, and content that follows from stream, number and place, so that a byte
// that is wrong, old or another's is found. The client's own clock is not in it: both ends measure by
// themselves.
//
//   0 magic "RPNG" · 4 size · 8 stream · 16 number · 24 checksum of the content · 32 content, 8 bytes a word.
//   Little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rdmove::ping {

inline constexpr std::size_t kSmallest = 32;
inline constexpr std::size_t kLargest = 1U << 20U;

/// One connection's messages; random.
enum class Stream : std::uint64_t {};

void write_message(std::span<std::byte> message, Stream stream, std::uint64_t number);

struct Read {
  Stream stream{};
  std::uint64_t number = 0;
};
/// Nothing if any byte is not as it was written.
std::optional<Read> read_message(std::span<const std::byte> message);

}  // namespace rdmove::ping
