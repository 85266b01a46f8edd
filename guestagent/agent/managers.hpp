// Who else looks after a device's addresses: NetworkManager, systemd-networkd or ifupdown. Implemented by
// ManagerFiles; faked in tests.
#pragma once

#include <filesystem>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

class Managers {
 public:
  virtual ~Managers() = default;

  /// "NetworkManager", "systemd-networkd", "ifupdown"; empty: nobody.
  virtual std::string manager_of(const LinkInfo& link) = 0;
};

/// By what each of them keeps under /run, so that no message bus is needed:
///
///   NetworkManager    run/NetworkManager/devices/INDEX     managed=true, and a connection is active
///   systemd-networkd  run/systemd/netif/links/INDEX        ADMIN_STATE=configured or configuring
///   ifupdown          run/network/ifstate                  NAME=…, and the device is allow-hotplug in
///                     etc/network/interfaces{,.d/*}        (what is only `auto` is not brought up again)
class ManagerFiles final : public Managers {
 public:
  explicit ManagerFiles(std::filesystem::path root) : root_(std::move(root)) {}

  std::string manager_of(const LinkInfo& link) override;

 private:
  [[nodiscard]] bool is_hotplugged_by_ifupdown(const std::string& netdev) const;

  std::filesystem::path root_;
};

}  // namespace rdmove::agent
