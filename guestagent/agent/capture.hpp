// All that is needed to bring a prepared guest's devices back, and the file that keeps it over an agent's
// restart.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/agent/dhcp/origin.hpp"
#include "guestagent/agent/network_state.hpp"
#include "guestagent/agent/rdma_settings.hpp"

namespace rdmove::agent {

struct CapturedDevice {
  protocol::DeviceTarget target;
  CapturedLink link;
  std::string rdma;                      // name of the RDMA device; empty: there was none
  std::vector<protocol::GidEntry> gids;  // its GID table
  std::string managed_by{};              // who sets the addresses; empty: the agent restores them
  std::vector<dhcp::Lease> leases{};     // none if it is managed: then they are the manager's
  std::vector<RdmaSetting> settings{};
  std::optional<protocol::SubnetPort> port{};  // only on InfiniBand
  bool operator==(const CapturedDevice&) const = default;
};

struct Capture {
  protocol::MigrationId migration;
  std::vector<CapturedDevice> devices;
  bool operator==(const Capture&) const = default;
};

std::string to_text(const Capture& capture, const std::string& boot_id);
/// Fails also when the text is of another boot or format.
Result<Capture> parse_capture(std::string_view text, const std::string& boot_id);

/// `captured-MIGRATION.json` in the state directory, mode 0600, replaced atomically.
class CaptureStore {
 public:
  CaptureStore(std::filesystem::path directory, std::string boot_id);

  Result<void> save(const Capture& capture);
  void remove(const protocol::MigrationId& migration);
  std::optional<Capture> load();  // the one that is there, if any is usable

 private:
  [[nodiscard]] std::filesystem::path path_of(const protocol::MigrationId& migration) const;

  std::filesystem::path directory_;
  std::string boot_id_;
};

}  // namespace rdmove::agent
