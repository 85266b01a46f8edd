// What two ends say to each other in RDMA CM's private data. The page: docs/reconnect-protocol.md; never
// renumber.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>
#include <vector>

namespace rdmove::failover::conn {

inline constexpr std::uint8_t protocol_version = 1;
inline constexpr std::size_t hello_bytes = 40;
inline constexpr std::size_t application_bytes = 16;
inline constexpr std::size_t refusal_bytes = 16;
/// Of a caller. It takes years to get there by calling, and who is called needs some above it.
inline constexpr std::uint32_t largest_epoch = 0x7fffffff;

enum class CallKind : std::uint8_t { First = 1, Recall = 2 };

/// In a request (REQ) and in its answer (REP).
struct Hello {
  CallKind kind = CallKind::First;
  bool moved = false;             ///< the sender's device left
  std::uint64_t connection = 0;   ///< chosen by who connects first
  std::uint64_t token = 0;        ///< first connect and its answer: the sender's; recall: the receiver's
  std::uint64_t incarnation = 0;  ///< of the sender's loop
  std::uint32_t epoch = 0;
  std::uint16_t recall_port = 0;
  std::uint16_t backlog = 0;
  std::vector<std::byte> application;  ///< at most 16 bytes
  bool operator==(const Hello&) const = default;
};

enum class RefusalCode : std::uint8_t {
  Refused = 1,
  Incompatible = 2,
  Unknown = 3,
  Closed = 4,
  WrongToken = 5,
  StaleEpoch = 6,
  Collision = 7,
  Busy = 8,
};

/// In a rejection (REJ).
struct Refusal {
  RefusalCode why = RefusalCode::Refused;
  std::uint64_t incarnation = 0;
  bool operator==(const Refusal&) const = default;
};

enum class Unreadable { Foreign, OtherVersion };

/// RDMA CM pads private data with zeroes to its own maximum: longer than written is normal.
tl::expected<Hello, Unreadable> decode_hello(std::span<const std::byte> data);
tl::expected<Refusal, Unreadable> decode_refusal(std::span<const std::byte> data);

std::vector<std::byte> encode(const Hello& hello);
std::array<std::byte, refusal_bytes> encode(const Refusal& refusal);

}  // namespace rdmove::failover::conn
