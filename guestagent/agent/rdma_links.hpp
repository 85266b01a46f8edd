// The guest's RDMA devices, and making and deleting soft-RoCE ones. Implemented by RdmaNetlink; faked in
// tests.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/types.hpp"

namespace rdmove::agent {

struct RdmaDevice {
  std::string name;    // "rxe0"
  std::string netdev;  // of port 1; may be empty
};

class RdmaLinks {
 public:
  using Done = std::function<void(protocol::Result<void>)>;

  virtual ~RdmaLinks() = default;

  virtual std::vector<RdmaDevice> list() = 0;
  /// Of port 1, the used rows. With some `wanted`, no row is read that comes after all of them and a gap.
  virtual std::vector<protocol::GidEntry> gids(const std::string& name,
                                               const std::vector<std::string>& wanted) = 0;
  /// Of port 1; none unless its link layer is InfiniBand.
  virtual std::optional<protocol::SubnetPort> subnet_port(const std::string& name) = 0;
  /// Of every port of every device but the anchor, at most limits::devices of them.
  virtual std::vector<protocol::DeviceCounters> counters() = 0;
  /// The addresses at the other ends of RDMA CM's connections, each once; what the kernel does not say is not
  /// there.
  virtual std::vector<std::string> remote_addresses() = 0;
  virtual protocol::Result<void> add_soft_roce(const std::string& name, const std::string& netdev) = 0;

  /// Returns at once. The kernel waits, uninterruptibly, until nobody holds the device: `done` may come late
  /// or never, but not within the call.
  virtual void remove(const std::string& name, Done done) = 0;
};

/// The device on this interface, or none ("").
std::string rdma_device_on(RdmaLinks& links, const std::string& netdev);

}  // namespace rdmove::agent
