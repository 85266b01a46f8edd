// prepare and restore: the two halves of a move, as the guest sees it. Both may be sent again with the same
// migration: an answer that is known is given again. The page: docs/agent-protocol.md.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guestagent/protocol/traffic.hpp"
#include "guestagent/protocol/types.hpp"

namespace rdmove::protocol {

/// Also says that nothing more of this guest is in the way of the unplug.
/// Errors: Holdouts (data HoldoutsResult), DeviceNotFound, Busy.
struct PrepareRequest {
  static constexpr std::string_view method = "prepare";
  MigrationId migration;
  std::chrono::milliseconds deadline{2000};
  bool force = false;  // go on although there are holdouts
  std::vector<DeviceTarget> devices;

  [[nodiscard]] Payload to_payload() const;
  static Result<PrepareRequest> from_payload(const Payload& payload);
  bool operator==(const PrepareRequest&) const = default;
};

struct PreparedDevice {
  std::string alias;
  DeviceIdentity identity;
  std::string netdev;
  std::vector<std::string> addresses;
  auto operator<=>(const PreparedDevice&) const = default;
};

struct PrepareResult {
  std::vector<PreparedDevice> devices;
  std::uint32_t applications = 0;  // that have let go
  std::chrono::milliseconds took{0};
  std::vector<Holdout> holdouts;         // only with force: who still holds on
  std::vector<DeviceTraffic> traffic{};  // of all devices, when prepare began

  [[nodiscard]] Payload to_payload() const;
  static Result<PrepareResult> from_payload(const Payload& payload);
  bool operator==(const PrepareResult&) const = default;
};

/// Errors: DeadlinePassed (data MissingPiece), Busy.
struct RestoreRequest {
  static constexpr std::string_view method = "restore";
  MigrationId migration;
  std::chrono::milliseconds deadline{10000};
  std::vector<DeviceTarget> devices;

  [[nodiscard]] Payload to_payload() const;
  static Result<RestoreRequest> from_payload(const Payload& payload);
  bool operator==(const RestoreRequest&) const = default;
};

struct RestoredDevice {
  std::string alias;
  DeviceIdentity identity;
  std::string netdev;
  std::string rdma;
  std::vector<GidEntry> gids;
  std::vector<std::string> addresses;
  std::string managed_by{};  // "NetworkManager": who put the addresses back; empty: the agent
  std::optional<SubnetPort> port_before{};  // at capture; both only on InfiniBand
  std::optional<SubnetPort> port{};
  auto operator<=>(const RestoredDevice&) const = default;
};

struct RestoreResult {
  std::vector<RestoredDevice> devices;
  std::chrono::milliseconds took{0};
  std::vector<std::string>
      warnings;  // what could not be put back and is not needed for RDMA: a route, a neighbour

  [[nodiscard]] Payload to_payload() const;
  static Result<RestoreResult> from_payload(const Payload& payload);
  bool operator==(const RestoreResult&) const = default;
};

/// The data of ErrorCode::DeadlinePassed. piece: "device", "link" (no carrier), "address", "rdma" or "gid".
struct MissingPiece {
  std::string piece;
  std::string name;   // the MAC or GUID, interface, address or GID that is not there
  std::string alias;  // of the device that it belongs to

  [[nodiscard]] Payload to_payload() const;
  static Result<MissingPiece> from_payload(const Payload& payload);
  bool operator==(const MissingPiece&) const = default;
};

}  // namespace rdmove::protocol
