#include "guestagent/agent/inventory.hpp"

#include <algorithm>

#include "guestagent/agent/anchor.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {

namespace limits = protocol::limits;

protocol::StatusResult Inventory::status(std::optional<protocol::MigrationId> prepared) const {
  protocol::StatusResult out;
  out.prepared = std::move(prepared);
  out.applications = static_cast<std::uint32_t>(services_.applications.count());
  const auto links = services_.network.links();
  for (const auto& device : services_.rdma.list()) {
    if (is_anchor(device.name) || out.devices.size() >= limits::devices) continue;
    protocol::DeviceStatus status;
    status.rdma = device.name;
    status.netdev = device.netdev;
    status.pci = sysfs_.pci_address(device.name);
    status.state = sysfs_.port_state(device.name);
    status.gids = sysfs_.gids(device.name, {});
    for (const auto& link : links) {
      if (device.netdev.empty() || link.name != device.netdev) continue;
      if (const auto* mac = std::get_if<MacAddress>(&link.identity)) status.mac = *mac;
      if (const auto* guid = std::get_if<protocol::PortGuid>(&link.identity)) status.guid = *guid;
      status.mtu = link.mtu;
      status.addresses = services_.network.addresses(link.index);
      if (status.addresses.size() > limits::addresses) status.addresses.resize(limits::addresses);
    }
    out.devices.push_back(std::move(status));
  }
  return out;
}

protocol::HoldoutsResult Inventory::holdouts() const {
  auto holding = services_.processes.holding({});
  // An unplug that hangs has taken the device out of sysfs already; its holder is then seen by its orphaned
  // node only.
  for (auto orphan : services_.processes.holding_a_channel()) {
    const bool known =
        std::any_of(holding.begin(), holding.end(), [&](const auto& h) { return h.pid == orphan.pid; });
    if (orphan.device.empty()) orphan.device = "a removed device";
    if (!known) holding.push_back(std::move(orphan));
  }
  if (holding.size() > protocol::limits::holdouts) holding.resize(protocol::limits::holdouts);
  const auto applications = services_.applications.pids();
  std::erase_if(holding, [&](const auto& holder) {
    return is_anchor(holder.device) ||
           std::find(applications.begin(), applications.end(), holder.pid) != applications.end();
  });
  return {std::move(holding)};
}

protocol::CountersResult Inventory::counters() const {
  return {services_.rdma.counters()};
}

protocol::AppsResult Inventory::applications() const {
  return {services_.applications.list()};
}

protocol::PeersResult Inventory::peers() const {
  return {services_.rdma.remote_addresses()};
}

}  // namespace rdmove::agent
