// Answers what the host may ask at any time: status, holdouts, counters, apps, peers. Loop thread.
#pragma once

#include <optional>

#include "guestagent/agent/rdma_sysfs.hpp"
#include "guestagent/agent/services.hpp"
#include "guestagent/protocol/inventory.hpp"

namespace rdmove::agent {

class Inventory {
 public:
  Inventory(Services& services, const RdmaSysfs& sysfs) : services_(services), sysfs_(sysfs) {}

  [[nodiscard]] protocol::StatusResult status(std::optional<protocol::MigrationId> prepared) const;
  [[nodiscard]] protocol::HoldoutsResult holdouts() const;
  [[nodiscard]] protocol::CountersResult counters() const;
  [[nodiscard]] protocol::AppsResult applications() const;
  [[nodiscard]] protocol::PeersResult peers() const;

 private:
  Services& services_;
  const RdmaSysfs& sysfs_;
};

}  // namespace rdmove::agent
