// What the host that a VM leaves does, as a state machine (docs/architecture.md, "Departure").
// This is the facade; the states are in departure_states.hpp. Owned by a DepartureSession; loop thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/migration/machine.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

/// What a departure can ask for. Every step may be started again after a crash: it looks first, then acts.
enum class DepartureStep {
  kExamine,          ///< plan, or every reason why not
  kReserve,          ///< a lease at the partner
  kPrepareGuest,     ///< applications let go, network state captured
  kUnplug,           ///< asked, and the removed event seen (or the live XML without it)
  kTakeIdentity,     ///< off the VFs that were left, read back
  kAnnounceRelease,  ///< the partner has journaled that the identity is free
  kAwaitMover,       ///< another mover's migration has begun
  kRecall,           ///< none came, and the partner lets none in any more
  kTransfer,         ///< libvirt's migration, started or adopted, to its end
  kAbortTransfer,    ///< asks libvirt to cancel the job
  kSettle,           ///< who runs the domain? succeeds when it is proven to run here alone
  kAwaitArrival,     ///< the partner has brought everything back, and libvirt's call has returned
  kReturnVf,         ///< the VFs that were left get back what they had, and go to their pool
  kNameHoldouts,     ///< asks the agent who still holds the device
  kReplug,           ///< the VFs are in the live XML again
  kRestoreGuest,     ///< the agent has put addresses back
  kWithdraw,         ///< the partner has freed the lease
};
const char* toString(DepartureStep step);

using DepartureActions = MachineActions<DepartureStep>;
using DepartureStepSucceeded = StepSucceeded<DepartureStep>;
using DepartureStepFailed = StepFailed<DepartureStep>;

/// The operator (or the daemon's stop) wants it undone. Refused past the point of no return.
struct CancelRequested : boost::statechart::event<CancelRequested> {};

/// The partner reports, or libvirt proves, that the domain was resumed there: the point of no return.
struct DomainArrived : boost::statechart::event<DomainArrived> {};

/// Something has changed that may help, as an operator's word or libvirt's return: what waits for its next try is tried
/// now.
struct TryNow : boost::statechart::event<TryNow> {};

/// What the VM still lacks when its departure begins.
enum class Debt {
  kNone,
  kInherited  ///< it moves on from an arrival that was Degraded: to end without it is no end
};

struct DepartureTimes {
  std::chrono::milliseconds unplug{10000};
  std::chrono::milliseconds transfer{0};  ///< 0: no limit
  Debt debt = Debt::kNone;
  Mover mover = Mover::kRdmove;
};

namespace departure {
class Machine;
}

class DepartureMachine {
 public:
  DepartureMachine(DepartureActions& actions, DepartureTimes times);
  ~DepartureMachine();

  /// phase: empty for a new migration, else the journaled phase to go on from.
  void start(const std::string& phase);

  void process(const DepartureStepSucceeded& event);
  void process(const DepartureStepFailed& event);
  void process(const DeadlinePassed& event);
  void process(const DomainArrived& event);
  void process(const TryNow& event);
  /// True when the cancel was taken; false past the point of no return, or when it is over.
  bool cancel();

  /// The state's name, as journaled.
  std::string phase() const;
  /// All of them but Boot; the tests hold their table against it.
  static std::vector<std::string> phases();
  bool ended() const;

 private:
  std::unique_ptr<departure::Machine> machine_;
};

}  // namespace rdmove
