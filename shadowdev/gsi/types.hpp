// The small value types of a shared port: names that cannot be mixed up. Plain values, any thread.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rdmove::gsi {

/// A function of the adapter as its port numbers it. It is sent in the TransactionIDs of the port's requests.
enum class FunctionId : std::uint8_t {};
inline constexpr FunctionId kPhysicalFunction{0};
/// Not a function: the port's own requests to the subnet administrator, which serve several functions.
inline constexpr FunctionId kPortItself{255};
/// Its place in an array of 256.
constexpr std::size_t index_of(FunctionId function) {
  return static_cast<std::size_t>(function);
}

enum class Lid : std::uint16_t {};
enum class TransactionId : std::uint64_t {};
/// Of a connection, 12.6 of the IBTA specification; also the RequestID of SIDR messages.
enum class CommId : std::uint32_t {};
enum class QueuePairNumber : std::uint32_t {};  ///< 24 bits
inline constexpr QueuePairNumber kSubnetManagementQueuePair{0};
inline constexpr QueuePairNumber kGeneralServicesQueuePair{1};

/// 128 bits: subnet prefix and port GUID, or a multicast group (IBTA volume 1, 4.1.1).
class Gid {
 public:
  using Bytes = std::array<std::byte, 16>;
  Gid() = default;
  explicit Gid(const Bytes& bytes) : bytes_(bytes) {}
  static Gid from(std::uint64_t prefix, std::uint64_t guid);
  /// As IPv6 addresses are written; nothing if it is none.
  static std::optional<Gid> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_zero() const { return *this == Gid{}; }
  [[nodiscard]] bool is_multicast() const { return bytes_[0] == std::byte{0xFF}; }
  auto operator<=>(const Gid&) const = default;

 private:
  Bytes bytes_{};
};

/// How a port is a member of a multicast group: independent bits (IBTA volume 1, 15.2.5.17, JoinState).
class JoinState {
 public:
  constexpr JoinState() = default;
  constexpr explicit JoinState(std::uint8_t bits) : bits_(bits & 0x0FU) {}
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool covers(JoinState other) const { return (other.bits_ & ~bits_) == 0; }
  friend constexpr JoinState operator|(JoinState a, JoinState b) { return JoinState(a.bits_ | b.bits_); }
  friend constexpr JoinState operator-(JoinState a, JoinState b) {
    return JoinState(static_cast<std::uint8_t>(a.bits_ & ~b.bits_));
  }
  constexpr bool operator==(const JoinState&) const = default;

 private:
  std::uint8_t bits_ = 0;
};
inline constexpr JoinState kFullMember{1};
inline constexpr JoinState kNonMember{2};
inline constexpr JoinState kSendOnlyNonMember{4};
inline constexpr JoinState kSendOnlyFullMember{8};

using TimePoint = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

/// Time is handed in, so that tests turn it.
class Timekeeper {
 public:
  virtual ~Timekeeper() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
};

}  // namespace rdmove::gsi

template <>
struct std::hash<rdmove::gsi::Gid> {
  std::size_t operator()(const rdmove::gsi::Gid& gid) const noexcept {
    std::uint64_t halves[2];
    std::memcpy(halves, gid.bytes().data(), sizeof halves);
    return static_cast<std::size_t>((halves[0] * 0x9E3779B97F4A7C15U) ^ halves[1]);
  }
};
