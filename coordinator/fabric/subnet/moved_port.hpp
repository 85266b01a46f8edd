// Has the fabric understood that a port has moved? Pure logic over Subnet; a worker's thread. The page:
// docs/models.md.
//
// Nothing here waits for a trap: a move within one sweep makes none (the SM keeps what it has and forwards to
// the new place), so the records are looked at again until they say so.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/fabric/subnet/subnet.hpp"

namespace rdmove {

/// Time between two looks. Says no when the time is over.
class Patience {
 public:
  virtual ~Patience() = default;
  virtual bool again() = 0;
};

/// Sleeps 5 ms, then twice as long each time up to 100 ms, until `limit` from now.
std::unique_ptr<Patience> patienceOf(std::chrono::milliseconds limit);

/// What the fabric knows of a port. Asked before it leaves, from any host.
struct KnownPort {
  Gid gid;
  Guid port_guid;  ///< of a virtual-switch port: the GID's last 8 bytes
  Lid lid{};
  std::optional<Attachment> attachment;  ///< no SM need tell it
  bool operator==(const KnownPort&) const = default;
};
Result<KnownPort> lookUpPort(Subnet& subnet, const Gid& gid);

/// shared-port: until the GID's path leads to the destination's port. kTimeout says where it leads instead.
/// Gives the path's LID.
Result<Lid> awaitSharedPort(Subnet& subnet, const Gid& gid, Lid destination, Patience& patience);

/// virtual-switch: a PathRecord does not tell, since the LID stays. So: until the SA has the port on another
/// cable than before, and the port itself answers at its LID. kTimeout says which of that is missing. Gives
/// the LID, which is not the old one if the SM gave another.
Result<Lid> awaitVirtualSwitch(Subnet& subnet, const KnownPort& before, Patience& patience);

struct LidChange {
  Guid port;
  Lid before{};
  Lid now{};  ///< 0: the SA does not have the port
  bool operator==(const LidChange&) const = default;
};

/// The LIDs of ports that matter to a VM: its own and its peers'. An SM without its cache renumbers
/// bystanders, too.
class LidBook {
 public:
  /// Ports that the SA does not have are left out.
  Result<void> note(Subnet& subnet, const std::vector<Guid>& ports);
  Result<std::vector<LidChange>> changes(Subnet& subnet) const;

 private:
  std::vector<std::pair<Guid, Lid>> noted_;
};

}  // namespace rdmove
