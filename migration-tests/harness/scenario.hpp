// What a scenario says: a VM with a load, a move, what goes wrong and when, and what must be true at its end.
// Read from TOML (docs/harness.md), or made by the matrix. Plain values.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"

namespace rdmove::harness {

enum class Side { kSource, kDestination };

enum class Process { kDaemon, kLibvirtd, kQemu, kAgent, kCommand };

enum class FaultKind {
  kKill,     ///< SIGKILL; its end is that it is started again
  kStop,     ///< SIGSTOP; its end is SIGCONT
  kRestart,  ///< ended as its service manager does it, and started again
  kNetwork,  ///< between the two hosts: cut, slow, to-source, to-destination (that way is lost), replies
  kJournal,  ///< the file system under it: full, read-only
  kClock,    ///< the host's wall clock jumps
  kGarbage,  ///< the agent says nonsense to the host
  kUnplugIgnored,   ///< the guest takes no notice of an unplug
  kAttachFails,     ///< the guest's slot at the destination is taken by another device
  kDeviceVanishes,  ///< the VF is detached by somebody else
  kHostGone,        ///< daemons, VMs and network of a host, at once
  kCancel           ///< the operator's `rdmove cancel`
};

/// When a fault begins.
struct Moment {
  std::string phase;  ///< "departure.Unplugging"; empty: before the migration is asked for
  /// The daemon of that phase stands still with the phase journaled and nothing of it done, until the fault
  /// is there. Otherwise the fault comes as soon as the phase is heard of.
  bool hold = true;
};

/// When it ends.
struct Until {
  enum class Kind { kAtOnce, kTime, kPhase, kDegraded, kFailure, kOver } kind = Kind::kAtOnce;
  std::chrono::milliseconds time{0};
  std::string phase;
};

struct Fault {
  FaultKind kind = FaultKind::kKill;
  Side side = Side::kSource;
  Process process = Process::kDaemon;  ///< of kKill, kStop, kRestart
  std::string how;                     ///< of kNetwork, kJournal
  Moment at;
  Until until;
  int mbit = 20;                       ///< of a slow network
  int port = 16509;                    ///< libvirtd's, whose replies are lost
  std::chrono::seconds clock_step{0};  ///< of kClock
};

struct Load {
  int connections = 4;
  int rate = 20;
};

struct Expectation {
  std::vector<std::string>
      outcomes;  ///< of the departure, any of them; empty: Completed, RolledBack or Refused
  std::optional<Side> runs_on;
  bool vm_ends = false;   ///< it is killed by the scenario: it must not be brought back from its past
  bool degraded = false;  ///< on the way, one of the two must have said Degraded
  std::vector<std::string> noted;  ///< texts that the journals' notes must have: that it came to this
  /// How many of the guest's ticks (20 ms each) may be seen on both hosts: a second copy that libvirt itself
  /// resumed, until it is paused.
  int doubled_ticks = 0;
};

struct Scenario {
  std::string name;
  std::string about;
  std::string vm = "vm1";
  std::string peer = "peer";
  std::vector<std::string> options;  ///< of `rdmove migrate`
  Load load;
  std::vector<Fault> faults;
  Expectation expect;
  std::chrono::seconds limit{90};  ///< from the request until nothing is left to be done
};

/// "kill source daemon at departure.Unplugging", for people.
std::string describe(const Fault& fault);
/// "kill libvirtd (source)", for a timeline's row, which is short.
std::string label(const Fault& fault);
std::string_view toString(Side side);

/// Errors name file, line and key. Unknown keys are errors.
Result<std::vector<Scenario>> readScenarios(const std::string& path);
Result<std::vector<Scenario>> parseScenarios(const std::string& text, const std::string& file_name);

}  // namespace rdmove::harness
