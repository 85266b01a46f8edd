// Which VM of a host that is to be emptied goes where, and which of them may move at a time. Pure functions
// over plain values, any thread; evacuation.hpp does what they decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/base/types.hpp"
#include "coordinator/preflight/host_room.hpp"

namespace rdmove::evacuation {

/// What a VM takes of the host that it comes to, and whom it talks to.
struct Need {
  DomainUuid uuid;
  std::string domain;  ///< libvirt's name
  std::uint64_t memory_kib = 0;
  unsigned vcpus = 0;
  std::map<PoolName, unsigned> vfs;
  std::set<DomainUuid> peers{};  ///< other VMs of this evacuation at the ends of its RDMA connections
  bool operator==(const Need&) const = default;
};

struct Limits {
  unsigned max_parallel = 2;
  unsigned per_fabric = 0;  ///< VMs with VFs of one pool; 0: max_parallel alone limits
  bool peers_together = false;
  bool operator==(const Limits&) const = default;
};

struct Placement {
  Need need;
  std::optional<HostName> destination;
  std::string why_not;  ///< a sentence without a full stop; set when there is no destination
};

/// Why `room` does not take it: "pool fabric has 0 VFs free, 1 needed". Empty when it does. How busy the
/// host's CPUs are decides between hosts, and keeps no VM away; only one with more vCPUs than there are CPUs
/// is refused.
std::string misfit(const Need& need, const HostRoom& room);
/// `room` with `need` in it; what is not there is not counted below zero.
void occupy(HostRoom& room, const Need& need);

/// A destination for each, in the order in which they are to begin: what has the fewest hosts to go to first,
/// then the largest; to the host whose CPUs are least busy with it. No host is given more than its room.
std::vector<Placement> place(const std::vector<Need>& needs, std::vector<HostRoom> rooms);

/// Where one VM goes now, with the rooms as they are at this moment.
struct Choice {
  enum class When { kNow, kLater, kNever } when = When::kNever;
  HostName host{};        ///< kNow
  std::string why_not{};  ///< kNever
};
/// `planned` if it has the room, else another. `coming`: VMs under way to a host, of which its room does not
/// tell yet; what would fit without them is asked for again when they are there.
Choice choose(const Need& need, const HostName& planned, const std::vector<HostRoom>& rooms,
              const std::multimap<HostName, Need>& coming, const std::set<HostName>& excluded);

/// One VM as mayBegin() sees it.
struct Turn {
  enum class State { kWaiting, kMoving, kOver } state = State::kWaiting;
  const Need* need = nullptr;
};
/// Which of the waiting ones may begin beside those that move, in their order, by number.
std::vector<std::size_t> mayBegin(const std::vector<Turn>& turns, const Limits& limits);

}  // namespace rdmove::evacuation
