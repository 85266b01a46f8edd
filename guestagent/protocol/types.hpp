// The small values that the messages are made of. All are checked when parsed, and then carried as they are.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

/// An InfiniBand port's EUI-64: the last 8 of the 20 bytes of an IPoIB address. Text as `ip link` writes it:
/// "00:02:c9:03:00:0a:1b:2c".
class PortGuid {
 public:
  PortGuid() = default;
  explicit PortGuid(const std::array<std::uint8_t, 8>& bytes) : bytes_(bytes) {}
  static Result<PortGuid> parse(std::string_view text);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::array<std::uint8_t, 8>& bytes() const { return bytes_; }
  auto operator<=>(const PortGuid&) const = default;

 private:
  std::array<std::uint8_t, 8> bytes_{};
};

/// What a device is known by on its fabric, and found by when it is back: `mac` on Ethernet, `guid` on
/// InfiniBand. An IPoIB interface's whole address will not do, since the queue pair number in it changes.
using DeviceIdentity = std::variant<MacAddress, PortGuid>;
std::string to_text(const DeviceIdentity& identity);

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

/// How the subnet manager knows port 1 of a device with an InfiniBand link layer. Which of it outlives a move
/// depends on the model (docs/models.md).
struct SubnetPort {
  std::uint16_t lid = 0;             // 0: none was given yet
  std::vector<std::uint16_t> pkeys;  // by index, up to the last used row; 0: a row that is not used
  std::vector<std::string> gids;     // the used rows, in their order
  auto operator<=>(const SubnetPort&) const = default;
};

/// A process that holds `device` (its RDMA name) open, or that was asked to let go and did not answer.
struct Holdout {
  std::int32_t pid = 0;
  std::string name;
  std::string device;
  auto operator<=>(const Holdout&) const = default;
};

/// A device as the host names it: the user alias of its hostdev or interface, and its MAC or port GUID.
struct DeviceTarget {
  std::string alias;
  DeviceIdentity identity;
  DeviceKind kind = DeviceKind::Vf;
  bool may_have_new_gids = false;  // restore: another device's GIDs are no reason to wait
  auto operator<=>(const DeviceTarget&) const = default;
};

}  // namespace rdmove::protocol
