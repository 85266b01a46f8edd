// The values that a VF's identity is made of, beside its MAC: GUIDs, P_Keys, VLAN protocol, link policy.
// Plain values, any thread. What cannot be an address says why: the sentence goes to the operator as it is.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/base/result.hpp"

namespace rdmove {

/// An EUI-64 that names a node or a port (InfiniBand Architecture vol. 1, 4.1). Zero is "none".
class Guid {
 public:
  constexpr Guid() = default;
  explicit constexpr Guid(std::uint64_t value) : value_(value) {}
  /// 16 hexadecimal digits: plain, after 0x, or in pairs or fours with a colon between. kBadInput: not 16,
  /// all zeros, all ones, or the group bit set (the lowest of the first byte), which makes it no port's own.
  static Result<Guid> parse(std::string_view text);
  /// As a driver may tell it: zero and all ones are values too, and leading zeros may be absent.
  static std::optional<Guid> read(std::string_view text);
  constexpr std::uint64_t value() const { return value_; }
  std::string str() const;     ///< "00:02:c9:03:00:0a:1b:2c"
  std::string digits() const;  ///< "0002c903000a1b2c"
  auto operator<=>(const Guid&) const = default;

 private:
  std::uint64_t value_ = 0;
};

/// Which partition a packet belongs to: 15 bits, and the membership bit (ibid., 10.9).
class PartitionKey {
 public:
  constexpr PartitionKey() = default;
  explicit constexpr PartitionKey(std::uint16_t value) : value_(value) {}
  /// "0x8001". kBadInput: no hexadecimal number of 16 bits after 0x, or partition 0, which is invalid.
  static Result<PartitionKey> parse(std::string_view text);
  constexpr std::uint16_t value() const { return value_; }
  constexpr std::uint16_t partition() const { return value_ & 0x7fffU; }
  constexpr bool full() const { return (value_ & 0x8000U) != 0; }
  std::string str() const;
  auto operator<=>(const PartitionKey&) const = default;

 private:
  std::uint16_t value_ = 0;
};

/// A table in its order: "0xffff 0x8001", at most 128 entries. kBadInput names the one that is wrong.
Result<std::vector<PartitionKey>> parsePartitionKeys(std::string_view text);
std::string toString(const std::vector<PartitionKey>& keys);

/// The EtherType of a VF's VLAN tag. Journaled and on the wire: do not renumber.
enum class VlanProtocol : int { k8021Q = 1, k8021ad = 2 };
std::optional<VlanProtocol> parseVlanProtocol(std::string_view text);  ///< "802.1Q", "802.1ad"
std::string_view toString(VlanProtocol protocol);

/// What a VF's port does: follow the uplink, be up, or be down. Journaled and on the wire: do not renumber.
enum class LinkPolicy : int { kAuto = 1, kEnable = 2, kDisable = 3 };
std::optional<LinkPolicy> parseLinkPolicy(std::string_view text);  ///< "auto", "enable", "disable"
std::string_view toString(LinkPolicy policy);

}  // namespace rdmove
