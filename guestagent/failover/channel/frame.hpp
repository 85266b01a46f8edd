// The frames of a channel, byte by byte as in docs/channel-protocol.md, which changes with this file. What is
// read here has been written by the peer: nothing of it is believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace rdmove::failover::channel {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kHelloBytes = 12;
inline constexpr std::size_t kRegionBytes = 56;
inline constexpr std::size_t kGreetingBytes = 16;
/// Every receive slot takes a payload of that length, however small the messages are.
inline constexpr std::size_t kControlPayload = 64;
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kRegions = 64;
inline constexpr std::uint32_t kLargestMessage = 1U << 20U;
inline constexpr std::uint16_t kFewestReceiveSlots = 8;

/// On the wire; never renumber.
enum class FrameType : std::uint8_t { Hello = 1, Message = 2, Acknowledge = 3, Region = 4, Finish = 5 };

struct Header {
  FrameType type = FrameType::Acknowledge;
  std::uint8_t version = kVersion;
  std::uint32_t length = 0;        ///< bytes that follow
  std::uint64_t number = 0;        ///< of the message or of the goodbye; else 0
  std::uint64_t acknowledged = 0;  ///< the last message that the sender of this frame has delivered
  std::uint64_t credit = 0;        ///< frames that the other end may have sent, counted from the link's start
};

struct Hello {
  std::uint32_t message_limit = 0;
  std::uint16_t receive_slots = 0;
  std::uint16_t send_slots = 0;
  std::uint16_t regions = 0;  ///< region frames with the flag `initial` that follow
  bool operator==(const Hello&) const = default;
};

/// What a hello tells that is not the same in all of a channel: in a call and its answer it stands for the
/// hello.
struct Greeting {
  std::uint16_t regions = 0;
  std::uint64_t credit = 0;     ///< receives that are posted; below 2^32
  std::uint64_t delivered = 0;  ///< the last message that was
  bool operator==(const Greeting&) const = default;
};

/// 1 to 32 bytes.
class RegionName {
 public:
  RegionName() = default;
  static std::optional<RegionName> from(std::string_view text);
  [[nodiscard]] std::string_view text() const { return {bytes_.data(), length_}; }
  bool operator==(const RegionName&) const = default;

 private:
  std::array<char, 32> bytes_{};
  std::uint8_t length_ = 0;
};

/// What one place of the sender's region table holds now.
struct RegionFrame {
  std::uint8_t place = 0;  ///< below kRegions
  bool shown = false;      ///< else the place is empty, and the rest is 0
  bool initial = false;    ///< one of those that the Hello counted
  bool readable = false;
  bool writable = false;
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  RegionName name;
};

namespace wire {
inline void put64(std::byte* at, std::uint64_t value) {
  const std::uint64_t swapped = __builtin_bswap64(value);
  std::memcpy(at, &swapped, sizeof swapped);
}
inline std::uint64_t get64(const std::byte* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap64(value);
}
}  // namespace wire

/// Inline: these two run for every message.
inline void write_header(std::byte* at, const Header& header) {
  wire::put64(at, std::uint64_t{static_cast<std::uint8_t>(header.type)} << 56U |
                      std::uint64_t{header.version} << 48U | header.length);
  wire::put64(at + 8, header.number);
  wire::put64(at + 16, header.acknowledged);
  wire::put64(at + 24, header.credit);
}

/// Nothing if the frame is shorter than a header, or its length is not what the header says. The type is
/// unchecked.
inline std::optional<Header> read_header(std::span<const std::byte> frame) {
  if (frame.size() < kHeaderBytes) return std::nullopt;
  const std::uint64_t first = wire::get64(frame.data());
  Header header;
  header.type = static_cast<FrameType>(first >> 56U);
  header.version = static_cast<std::uint8_t>(first >> 48U);
  header.length = static_cast<std::uint32_t>(first);
  header.number = wire::get64(frame.data() + 8);
  header.acknowledged = wire::get64(frame.data() + 16);
  header.credit = wire::get64(frame.data() + 24);
  if (header.length != frame.size() - kHeaderBytes) return std::nullopt;
  return header;
}

void write_hello(std::span<std::byte, kHelloBytes> at, const Hello& hello);
void write_region(std::span<std::byte, kRegionBytes> at, const RegionFrame& region);
std::array<std::byte, kGreetingBytes> write_greeting(const Greeting& greeting);

/// Nothing if a value is outside what the page allows.
std::optional<Hello> read_hello(std::span<const std::byte> payload);
std::optional<RegionFrame> read_region(std::span<const std::byte> payload);
/// Nothing if there is none, or one of a version that is not known here.
std::optional<Greeting> read_greeting(std::span<const std::byte> words);

}  // namespace rdmove::failover::channel
