// What the guest says unasked, besides hello. The page: docs/agent-protocol.md, "Notifications".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guestagent/protocol/move.hpp"

namespace rdmove::protocol {

/// A network device with this MAC or port GUID left the guest.
struct DeviceRemoved {
  static constexpr std::string_view method = "device-removed";
  DeviceIdentity identity;
  std::string netdev;

  [[nodiscard]] Payload to_payload() const;
  static Result<DeviceRemoved> from_payload(const Payload& payload);
  bool operator==(const DeviceRemoved&) const = default;
};

struct DeviceArrived {
  static constexpr std::string_view method = "device-arrived";
  DeviceIdentity identity;
  std::string netdev;

  [[nodiscard]] Payload to_payload() const;
  static Result<DeviceArrived> from_payload(const Payload& payload);
  bool operator==(const DeviceArrived&) const = default;
};

/// Everything is back and the applications have been told. Sent just before the answer to restore.
struct Ready {
  static constexpr std::string_view method = "ready";
  MigrationId migration;
  std::vector<RestoredDevice> devices;

  [[nodiscard]] Payload to_payload() const;
  static Result<Ready> from_payload(const Payload& payload);
  bool operator==(const Ready&) const = default;
};

}  // namespace rdmove::protocol
