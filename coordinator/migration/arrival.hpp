// What the host that a VM comes to does, as a state machine (docs/architecture.md, "Arrival").
// This is the facade; the states are in arrival_states.hpp. Owned by an ArrivalSession; loop thread only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/migration/machine.hpp"

namespace rdmove {

/// What an arrival can ask for. Every step looks first and then acts, so it may be started again after a
/// crash.
enum class ArrivalStep {
  kStage,         ///< VFs picked and leased, and the device elements made that will be attached
  kObserve,       ///< is the domain here, and how? Answered by the events below, not by success
  kPlug,          ///< identity live, VF attached at the same guest address and alias
  kRestoreGuest,  ///< the agent has put addresses back and the GIDs are there
  kVerify,        ///< live and persistent definition right; a definition that names another VF is rewritten
  kUnstage,       ///< leases freed, VFs back in their pool
};
const char* toString(ArrivalStep step);

using ArrivalActions = MachineActions<ArrivalStep>;
using ArrivalStepSucceeded = StepSucceeded<ArrivalStep>;
using ArrivalStepFailed = StepFailed<ArrivalStep>;

/// The source says: the identity is off its VFs, read back. Journaled before it is answered.
struct IdentityReleased : boost::statechart::event<IdentityReleased> {};
/// libvirt's STARTED(migrated): QEMU waits for the stream. From now on the lease does not end by time.
struct DomainIncoming : boost::statechart::event<DomainIncoming> {};
/// libvirt's RESUMED(migrated), seen in the state as well: the domain runs here. The point of no return.
struct DomainResumed : boost::statechart::event<DomainResumed> {};
/// libvirt's STOPPED: an incoming that failed, or a VM that ended here.
struct DomainGone : boost::statechart::event<DomainGone> {};
/// A device that was attached here has left the domain again: somebody else took it out.
struct DeviceLost : boost::statechart::event<DeviceLost> {};
/// The source rolls back.
struct WithdrawRequested : boost::statechart::event<WithdrawRequested> {};
/// The lease's hold passed without a renewal and before the domain was seen.
struct LeaseExpired : boost::statechart::event<LeaseExpired> {};

namespace arrival {
class Machine;
}

class ArrivalMachine {
 public:
  ArrivalMachine(ArrivalActions& actions, std::chrono::milliseconds attach_budget);
  ~ArrivalMachine();

  /// phase: empty for a new reservation, else the journaled phase to go on from.
  void start(const std::string& phase);

  void process(const ArrivalStepSucceeded& event);
  void process(const ArrivalStepFailed& event);
  void process(const DeadlinePassed& event);
  void process(const IdentityReleased& event);
  void process(const DomainIncoming& event);
  void process(const DomainResumed& event);
  void process(const DomainGone& event);
  void process(const DeviceLost& event);
  void process(const WithdrawRequested& event);
  void process(const LeaseExpired& event);

  std::string phase() const;
  /// All of them but Boot; the tests hold their table against it.
  static std::vector<std::string> phases();
  /// True from the domain's resume on: there is no way back.
  bool arrived() const { return arrivedIn(phase()); }
  static bool arrivedIn(std::string_view phase);
  bool ended() const;

 private:
  std::unique_ptr<arrival::Machine> machine_;
};

}  // namespace rdmove
