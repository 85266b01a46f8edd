// What the host may ask at any time without changing anything: status, holdouts, counters, apps, peers.
// The page: docs/agent-protocol.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guestagent/protocol/application.hpp"
#include "guestagent/protocol/traffic.hpp"
#include "guestagent/protocol/types.hpp"

namespace rdmove::protocol {

struct DeviceStatus {
  std::string rdma;    // "rxe0"
  std::string netdev;  // empty: no network interface (InfiniBand without IPoIB, or already gone)
  MacAddress mac;
  std::string pci;    // "0000:07:00.0", or empty
  std::string state;  // of the port, as sysfs says it without its number: "ACTIVE", "DOWN"
  std::uint32_t mtu = 0;
  std::vector<GidEntry> gids;
  std::vector<std::string> addresses;  // "10.0.0.5/24"
  std::optional<PortGuid> guid{};      // of InfiniBand; its mac is all zero
  auto operator<=>(const DeviceStatus&) const = default;
};

struct StatusRequest {
  static constexpr std::string_view method = "status";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<StatusRequest> from_payload(const Payload&) { return StatusRequest{}; }
};

struct StatusResult {
  std::vector<DeviceStatus> devices;
  std::optional<MigrationId> prepared;  // the migration that the guest is prepared for, and not yet restored
  std::uint32_t applications = 0;       // registered now

  [[nodiscard]] Payload to_payload() const;
  static Result<StatusResult> from_payload(const Payload& payload);
  bool operator==(const StatusResult&) const = default;
};

struct HoldoutsRequest {
  static constexpr std::string_view method = "holdouts";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<HoldoutsRequest> from_payload(const Payload&) { return HoldoutsRequest{}; }
};

/// Every process that holds an RDMA device open and is no registered application. Also the data of
/// ErrorCode::Holdouts.
struct HoldoutsResult {
  std::vector<Holdout> holdouts;

  [[nodiscard]] Payload to_payload() const;
  static Result<HoldoutsResult> from_payload(const Payload& payload);
  bool operator==(const HoldoutsResult&) const = default;
};

struct DeviceCounters {
  std::string rdma;
  std::uint32_t port = 1;
  std::map<std::string, std::uint64_t> counters;  // the kernel's names; netdev counters have "netdev_" before
  PortTraffic traffic;                            // of them, under one name for all drivers
  auto operator<=>(const DeviceCounters&) const = default;
};

struct CountersRequest {
  static constexpr std::string_view method = "counters";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<CountersRequest> from_payload(const Payload&) { return CountersRequest{}; }
};

struct CountersResult {
  std::vector<DeviceCounters> devices;

  [[nodiscard]] Payload to_payload() const;
  static Result<CountersResult> from_payload(const Payload& payload);
  bool operator==(const CountersResult&) const = default;
};

/// Where an application stands in a move. On the wire by name (to_text).
enum class Hold {
  None,      // nobody has asked it to let go
  Asked,     // asked, not answered yet
  Released,  // nothing of it is left on any RDMA device
  Holding,   // asked, and it says that it does not let go
};
std::string_view to_text(Hold hold);

/// What the agent knows of one registered application.
struct ApplicationInfo {
  std::int32_t pid = 0;  // the kernel's word (SO_PEERCRED), whatever the application says
  std::string name;      // its own word, as is the report
  std::uint32_t uid = 0;
  std::uint64_t registered_s = 0;  // how long ago, in the guest's monotonic clock
  Hold hold = Hold::None;
  std::optional<application::Report> report;
  bool operator==(const ApplicationInfo&) const = default;
};

struct AppsRequest {
  static constexpr std::string_view method = "apps";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<AppsRequest> from_payload(const Payload&) { return AppsRequest{}; }
};

struct AppsResult {
  std::vector<ApplicationInfo> applications;
  std::uint32_t left_out = 0;  // that did not fit a line

  /// What does not fit a line is counted in left_out instead.
  [[nodiscard]] Payload to_payload() const;
  static Result<AppsResult> from_payload(const Payload& payload);
  bool operator==(const AppsResult&) const = default;
};

struct PeersRequest {
  static constexpr std::string_view method = "peers";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<PeersRequest> from_payload(const Payload&) { return PeersRequest{}; }
};

/// The addresses at the other ends of the guest's RDMA CM connections.
struct PeersResult {
  std::vector<std::string> peers;  // "10.0.0.6", "fe80::1"; each once

  [[nodiscard]] Payload to_payload() const;
  static Result<PeersResult> from_payload(const Payload& payload);
  bool operator==(const PeersResult&) const = default;
};

}  // namespace rdmove::protocol
