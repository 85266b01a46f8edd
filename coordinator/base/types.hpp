// The coordinator's small value types: names that cannot be mixed up, addresses that are parsed once.
// Plain values, any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rdmove {

/// A string with a meaning. Two kinds of name do not compare with or convert to one another.
template <class Tag>
class Name {
 public:
  Name() = default;
  explicit Name(std::string text) : text_(std::move(text)) {}
  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const Name&) const = default;

 private:
  std::string text_;
};

using MigrationId = Name<struct MigrationIdTag>;  ///< "vm1-20261130-0a1b2c", unique over both hosts
using DomainUuid = Name<struct DomainUuidTag>;    ///< RFC 4122 text, lower case
using HostName = Name<struct HostNameTag>;        ///< a host as its partners call it in their configuration
using PoolName = Name<struct PoolNameTag>;
using DeviceAlias = Name<struct DeviceAliasTag>;  ///< libvirt's user alias, "ua-rdma0"
using VfName = Name<struct VfNameTag>;            ///< "0000:3b:00.2" (sriov) or "br0#3" (bridge)

/// A 48-bit Ethernet address. Text form is lower-case "52:54:00:77:00:01".
class MacAddress {
 public:
  static std::optional<MacAddress> parse(std::string_view text);
  std::string str() const;
  const std::array<std::uint8_t, 6>& bytes() const { return bytes_; }
  auto operator<=>(const MacAddress&) const = default;

 private:
  std::array<std::uint8_t, 6> bytes_{};
};

/// How the fabric sees a VF (docs/models.md). Journaled and on the wire: do not renumber.
enum class Model : int { kSharedPort = 1, kVirtualSwitch = 2, kRoce = 3 };

/// How applications live through a move. Journaled and on the wire: do not renumber.
enum class Continuity : int { kReconnect = 1, kPark = 2, kCarry = 3 };

std::optional<Model> parseModel(std::string_view text);  ///< "shared-port", "virtual-switch", "roce"
std::string_view toString(Model model);
std::optional<Continuity> parseContinuity(std::string_view text);  ///< "reconnect", "park", "carry"
std::string_view toString(Continuity continuity);

}  // namespace rdmove

template <class Tag>
struct std::hash<rdmove::Name<Tag>> {
  std::size_t operator()(const rdmove::Name<Tag>& name) const { return std::hash<std::string>{}(name.str()); }
};
