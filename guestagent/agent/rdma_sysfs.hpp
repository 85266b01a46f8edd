// What sysfs says about RDMA devices. Reads only; a device that vanishes meanwhile is just not there. Any
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/protocol/inventory.hpp"

namespace rdmove::agent {

class RdmaSysfs {
 public:
  explicit RdmaSysfs(std::filesystem::path sys) : sys_(std::move(sys)) {}

  [[nodiscard]] std::vector<std::string> devices() const;
  [[nodiscard]] std::vector<std::uint32_t> ports(const std::string& device) const;
  [[nodiscard]] std::string port_state(const std::string& device) const;  // "ACTIVE"
  /// As RdmaLinks::gids.
  [[nodiscard]] std::vector<protocol::GidEntry> gids(const std::string& device,
                                                     const std::vector<std::string>& wanted) const;
  /// As RdmaLinks::subnet_port.
  [[nodiscard]] std::optional<protocol::SubnetPort> subnet_port(const std::string& device) const;
  /// The IPoIB interface on port 1, not a P_Key child of it; or empty.
  [[nodiscard]] std::string ipoib_netdev(const std::string& device) const;
  [[nodiscard]] std::string pci_address(const std::string& device) const;  // or empty
  [[nodiscard]] std::map<std::string, std::string> uverbs() const;         // "uverbs0" -> "rxe0"
  [[nodiscard]] std::map<std::string, std::uint64_t> counters(const std::string& device, std::uint32_t port,
                                                              const std::string& netdev) const;

 private:
  [[nodiscard]] std::filesystem::path port_path(const std::string& device, std::uint32_t port) const;

  std::filesystem::path sys_;
};

}  // namespace rdmove::agent
