// The simulated world: two hosts with a libvirtd and VFs each, the guests, and the network between them.
// Plain state that everything simulated reads and changes, and that the invariants look at; no part of the
// coordinator knows it. One world per seed, one thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/types.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/simulation/agenda.hpp"
#include "coordinator/simulation/fibers.hpp"
#include "coordinator/simulation/network.hpp"
#include "coordinator/simulation/random.hpp"

namespace rdmove::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const PoolName kPool("fabric");
inline const DeviceAlias kAlias("ua-rdma0");

/// A VF as its PF's driver tells it.
struct VirtualFunction {
  VfName name;
  std::string own;      ///< its address when no VM has it
  std::string address;  ///< MAC or GUID now
  bool link_down = false;
  std::string put_back;  ///< libvirt's memory of an interface hostdev: what it had before the attach
  std::string home{};    ///< the host's driver that has it while no VM does; empty: it is VFIO's always
  bool with_vfio = true;
  bool unusable = false;  ///< no attach of it succeeds
};

struct Device {
  std::string element;
  VfName vf;
  bool leaving = false;  ///< its removal was asked for
};

enum class Job { kNone, kIncoming, kOutgoing };

/// A domain as one libvirtd knows it.
struct Domain {
  DomainState state = DomainState::kShutOff;
  RunReason reason = RunReason::kOther;
  std::optional<std::string> definition;
  std::optional<Device> device;
  Job job = Job::kNone;
  bool active() const { return state != DomainState::kShutOff; }
  bool runs() const { return state == DomainState::kRunning; }
};

/// A VM as itself, wherever it runs.
struct Guest {
  std::string name;
  DomainUuid uuid;
  bool persistent = true;
  bool infiniband = false;  ///< a plain hostdev with a GUID; else an interface with a MAC
  std::string address;
  std::string device;  ///< portable element
  std::string metadata;
  std::string ip;
  std::string talks_to{};  ///< the IP address at the other end of its connection; empty: it has none
  bool prepared = false;  ///< its applications have let go
  bool ended = false;     ///< crashed or shut down by itself
  VfName first_vf;  ///< given by nobody that rdmove knows of, and so not taken off by it when the VM ends
  int first_host = 0;
  int lives_on = 0;  ///< the host with its newest state; a copy elsewhere is of its past
};

/// What goes wrong at one host, now.
struct HostTroubles {
  bool journal_full = false;
  bool fabric_fails = false;
  int attaches_that_fail = 0;
  bool agents_silent = false;
};
enum class Unplug { kLeaves, kIgnored, kRefused, kHeld };
struct GuestTroubles {
  Unplug unplug = Unplug::kLeaves;
  bool holds_at_prepare = false;
  bool answer_lost = false;  ///< the agent does what it is asked, and its next answer does not arrive
};

class CoordinatorProcess;
class LiveMigration;

struct Host {
  int number = 0;
  HostName name;
  std::map<DomainUuid, Domain> domains;
  std::vector<VirtualFunction> vfs;
  bool powered = true;
  bool libvirtd_up = true;
  int boots = 1;
  bool sweep_refused = false;  ///< a VF driver, or the journal, has refused something, ever
  HostTroubles troubles;
  std::unique_ptr<CoordinatorProcess> coordinator;  ///< none while it is down
  Duration last_event{0};                           ///< libvirt's events keep their order

  VirtualFunction* vf(const VfName& name);
  Domain* domain(const DomainUuid& uuid);
};

/// Thrown by a check of the world that does not hold.
struct Violation {
  std::string rule;
  std::string what;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Host& other(const Host& host) { return hosts[static_cast<std::size_t>(1 - host.number)]; }
  Host& byName(const HostName& name) { return hosts[name == hosts[0].name ? 0 : 1]; }
  Guest* guest(const DomainUuid& uuid);
  /// The domain ends on this host, by itself or by libvirt's doing: its VF is free.
  void endDomain(Host& host, const DomainUuid& uuid, LifecycleDetail detail,
                 Lifecycle event = Lifecycle::kStopped);
  /// Its domains and daemons end, its VFs are as new; definitions and the journal stay.
  void losePower(Host& host);
  /// libvirt's word, to whoever is connected when it arrives.
  void tell(Host& host, std::function<void(HypervisorListener&)> event);
  void lifecycle(Host& host, const DomainUuid& uuid, Lifecycle event, LifecycleDetail detail);
  void detached(Host& host, const Guest& guest, Domain& domain);
  std::string liveXml(const Guest& guest, const Domain& domain) const;

  /// A line of the trace, if one is wanted.
  void say(const std::string& line);
  bool tracing() const { return static_cast<bool>(trace); }

  Agenda agenda;
  Random random;
  Fibers fibers{agenda};
  Network network{agenda, random};
  std::array<Host, 2> hosts;
  std::vector<Guest> guests;
  std::map<DomainUuid, GuestTroubles> guest_troubles;
  std::vector<std::shared_ptr<LiveMigration>> transfers;
  std::function<void(const std::string&)> trace;
  const bool operators;  ///< somebody says it when a host is dead, and they often are
  const bool broken_vfs;  ///< a fault that came late: seeds from before it go on being the same run
  bool hooks = false;  ///< libvirt has rdmove's hook on both hosts; without it whatever comes in comes in
  int loose_ends = 0;  ///< what libvirt has still to clean up
  std::function<void()>
      at_switch;  ///< libvirt has paused the source for the switch, or resumed the destination
  std::function<void(Violation)> broken;  ///< what must not be was seen
};

}  // namespace rdmove::simulation
