// The small values that the messages are made of. All are checked when parsed, and then carried as they are.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "guestagent/protocol/error.hpp"

namespace rdmove::protocol {

inline constexpr int protocol_version = 1;

/// Six bytes; text is lower case with colons, as in sysfs.
class MacAddress {
 public:
  MacAddress() = default;
  explicit MacAddress(const std::array<std::uint8_t, 6>& bytes) : bytes_(bytes) {}
  static Result<MacAddress> parse(std::string_view text);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::array<std::uint8_t, 6>& bytes() const { return bytes_; }
  auto operator<=>(const MacAddress&) const = default;

 private:
  std::array<std::uint8_t, 6> bytes_{};
};

/// 1 to 64 of [A-Za-z0-9._-], not starting with a dot: it is also part of a file's name.
class MigrationId {
 public:
  MigrationId() = default;
  static Result<MigrationId> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  auto operator<=>(const MigrationId&) const = default;

 private:
  std::string text_;
};

enum class DeviceKind { SoftRoce, Vf };
std::string_view to_text(DeviceKind kind);
Result<DeviceKind> parse_device_kind(std::string_view text);

/// One used row of a port's GID table. `gid` as in sysfs (eight groups of four digits), `type` as in
/// gid_attrs/types ("RoCE v2", "IB/RoCE v1").
struct GidEntry {
  std::uint32_t index = 0;
  std::string gid;
  std::string type;
  auto operator<=>(const GidEntry&) const = default;
};

/// A process that holds `device` (its RDMA name) open, or that was asked to let go and did not answer.
struct Holdout {
  std::int32_t pid = 0;
  std::string name;
  std::string device;
  auto operator<=>(const Holdout&) const = default;
};

/// A device as the host names it: the user alias of its hostdev or interface, and its MAC.
struct DeviceTarget {
  std::string alias;
  MacAddress mac;
  DeviceKind kind = DeviceKind::Vf;
  auto operator<=>(const DeviceTarget&) const = default;
};

}  // namespace rdmove::protocol
