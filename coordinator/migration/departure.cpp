#include "coordinator/migration/departure.hpp"

#include <string_view>

#include "coordinator/migration/departure_states.hpp"

namespace rdmove {
namespace departure {

namespace {

/// The VM may be without its device from before: then every way back leads through its replug.
bool indebted(const Machine& machine) {
  return machine.times().debt == Debt::kInherited;
}

bool ofAnotherMover(const Machine& machine) {
  return machine.times().mover == Mover::kAnother;
}

}  // namespace

void Machine::unconsumed_event(const sc::event_base&) {
  actions_.unconsumed(phase, "event");
}

sc::result Boot::react(const Recover& event) {
  const std::string_view phase = event.phase;
  if (phase.empty()) return transit<Preflight>();
  // Nothing was asked of the guest yet: give the lease back and say so.
  if (phase == Preflight::kPhase || phase == Reserving::kPhase || phase == Refusing::kPhase)
    return indebted(outermost_context()) ? transit<Replugging>() : transit<Refusing>();
  // The guest may have let go already: have it take everything up again.
  if (phase == Preparing::kPhase && indebted(outermost_context())) return transit<Replugging>();
  if (phase == Preparing::kPhase || phase == RestoringGuest::kPhase) return transit<RestoringGuest>();
  if (phase == Unpreparing::kPhase) return transit<Unpreparing>();
  if (phase == Unplugging::kPhase) return transit<Unplugging>();
  if (phase == UnplugStuck::kPhase) return transit<UnplugStuck>();
  if (phase == TakingIdentity::kPhase) return transit<TakingIdentity>();
  if (phase == AnnouncingRelease::kPhase) return transit<AnnouncingRelease>();
  if (phase == Prepared::kPhase) return transit<Prepared>();
  if (phase == Recalling::kPhase) return transit<Recalling>();
  if (phase == Transferring::kPhase) return transit<Transferring>();
  if (phase == Handover::kPhase) return transit<Handover>();
  if (phase == Releasing::kPhase) return transit<Releasing>();
  if (phase == Replugging::kPhase) return transit<Replugging>();
  if (phase == Withdrawing::kPhase) return transit<Withdrawing>();
  return transit<Settling>();
}

sc::result Preflight::done() {
  return cancelHeld() ? back() : transit<Reserving>();
}
sc::result Preflight::failed(const Error& error) {
  world().blame(error);
  return back();
}
sc::result Preflight::back() {
  return indebted(outermost_context()) ? transit<Replugging>() : transit<Refused>();
}

sc::result Reserving::done() {
  return cancelHeld() ? back() : transit<Preparing>();
}
sc::result Reserving::failed(const Error& error) {
  world().blame(error);
  return back();
}
/// A refusal that we did not hear to its end may have left a lease.
sc::result Reserving::back() {
  return indebted(outermost_context()) ? transit<Replugging>() : transit<Refusing>();
}

sc::result Preparing::done() {
  if (cancelHeld()) return indebted(outermost_context()) ? transit<Replugging>() : transit<RestoringGuest>();
  return transit<Unplugging>();
}
sc::result Preparing::failed(const Error& error) {
  world().blame(error);
  if (indebted(outermost_context())) return transit<Replugging>();
  // The agent un-holds everything before it names holdouts, and one that was never reached did nothing.
  if (error.code == ErrorCode::kHoldouts || error.code == ErrorCode::kUnavailable)
    return transit<Withdrawing>();
  return transit<Unpreparing>();
}

Unplugging::Unplugging(my_context ctx) : Work(ctx) {
  wait(times().unplug);
}
sc::result Unplugging::done() {
  return cancelHeld() ? transit<Replugging>() : transit<TakingIdentity>();
}
sc::result Unplugging::failed(const Error& error) {
  world().blame(error);
  // Only what is certain goes back: the guest refused, the domain ended, or nothing was asked. An unplug that
  // may be pending would take the device away after the rollback, so it is waited for.
  const bool certain = error.code == ErrorCode::kRefused || error.code == ErrorCode::kNotFound ||
                       error.code == ErrorCode::kExhausted;
  return certain ? transit<Replugging>() : transit<UnplugStuck>();
}
sc::result Unplugging::late() {
  failed_ = true;
  return transit<UnplugStuck>();
}

UnplugStuck::UnplugStuck(my_context ctx) : Retried(ctx) {
  const Error stuck{
      ErrorCode::kHoldouts, "take the RDMA device out of the guest",
      "the guest was asked and has not let it go",
      "End the process in the guest that holds it (rdmove agent VM holdouts); the rest happens by itself."};
  world().blame(stuck);
  world().degrade(stuck);
  world().begin(Step::kNameHoldouts);  // answered to the operator by the session, not to this state
}
sc::result UnplugStuck::done() {
  return transit<Replugging>();
}
sc::result UnplugStuck::failed(const Error& error) {
  if (error.code == ErrorCode::kNotFound)
    return transit<Replugging>();  // the domain ended, and its devices with it
  return Retried::failed(error);
}

sc::result TakingIdentity::done() {
  return cancelHeld() ? transit<Replugging>() : transit<AnnouncingRelease>();
}
sc::result TakingIdentity::failed(const Error& error) {
  world().blame(error);
  return transit<Replugging>();
}

sc::result AnnouncingRelease::done() {
  if (cancelHeld()) return back();
  return ofAnotherMover(outermost_context()) ? transit<Prepared>() : transit<Transferring>();
}
sc::result AnnouncingRelease::failed(const Error& error) {
  world().blame(error);
  return back();
}
/// The partner may have heard it though its answer was lost: then its hook lets the VM in, whoever moves it.
sc::result AnnouncingRelease::back() {
  return transit<Recalling>();
}

sc::result Prepared::done() {
  return transit<Transferring>();
}
sc::result Prepared::failed(const Error& error) {
  world().blame(error);
  return transit<Recalling>();
}
sc::result Prepared::cancelled() {
  takeCancel();
  return transit<Recalling>();
}
sc::result Prepared::arrived() {
  return transit<Handover>();
}

sc::result Recalling::done() {
  return transit<Replugging>();
}
sc::result Recalling::arrived() {
  return transit<Handover>();
}

Transferring::Transferring(my_context ctx) : Work(ctx) {
  if (times().transfer.count() > 0) wait(times().transfer);
}
sc::result Transferring::done() {
  return transit<Handover>();
}
sc::result Transferring::arrived() {
  return transit<Handover>();
}
sc::result Transferring::failed(const Error& error) {
  world().blame(error);
  return transit<Settling>();
}
sc::result Transferring::late() {
  world().blame(Error{ErrorCode::kTimeout, "finish the transfer", "its time limit (--timeout) has passed",
                      "Allow more time, more bandwidth, or --auto-converge or --postcopy."});
  world().begin(Step::kAbortTransfer);
  return discard_event();
}
sc::result Transferring::cancelled() {
  takeCancel();
  world().begin(Step::kAbortTransfer);
  return discard_event();
}

sc::result Settling::done() {
  // The partner waits for the VM still, and its hook lets it in: somebody may start another migration at any moment.
  return transit<Recalling>();
}
sc::result Settling::failed(const Error& error) {
  // A partner that does not say leaves the domain paused here: that is told at once.
  if (error.code == ErrorCode::kTimeout) world().degrade(error);
  return Retried::failed(error);
}
sc::result Settling::arrived() {
  return transit<Handover>();
}
sc::result Handover::done() {
  return transit<Releasing>();
}
sc::result Releasing::done() {
  return transit<Completed>();
}
sc::result Replugging::done() {
  return transit<RestoringGuest>();
}
sc::result Replugging::arrived() {
  return transit<Handover>();
}
sc::result RestoringGuest::done() {
  return transit<Withdrawing>();
}

sc::result Unpreparing::done() {
  return transit<Withdrawing>();
}
sc::result Unpreparing::failed(const Error& error) {
  world().blame(error);
  return transit<Withdrawing>();
}

sc::result Withdrawing::done() {
  return transit<RolledBack>();
}
sc::result Withdrawing::failed(const Error& error) {
  world().blame(error);
  return transit<RolledBack>();
}

sc::result Refusing::done() {
  return transit<Refused>();
}
sc::result Refusing::failed(const Error& error) {
  world().blame(error);
  return transit<Refused>();
}

}  // namespace departure

const char* toString(DepartureStep step) {
  switch (step) {
    case DepartureStep::kExamine:
      return "examine";
    case DepartureStep::kReserve:
      return "reserve";
    case DepartureStep::kPrepareGuest:
      return "prepare-guest";
    case DepartureStep::kUnplug:
      return "unplug";
    case DepartureStep::kTakeIdentity:
      return "take-identity";
    case DepartureStep::kAnnounceRelease:
      return "announce-release";
    case DepartureStep::kAwaitMover:
      return "await-mover";
    case DepartureStep::kRecall:
      return "recall";
    case DepartureStep::kTransfer:
      return "transfer";
    case DepartureStep::kAbortTransfer:
      return "abort-transfer";
    case DepartureStep::kSettle:
      return "settle";
    case DepartureStep::kAwaitArrival:
      return "await-arrival";
    case DepartureStep::kReturnVf:
      return "return-vf";
    case DepartureStep::kNameHoldouts:
      return "name-holdouts";
    case DepartureStep::kReplug:
      return "replug";
    case DepartureStep::kRestoreGuest:
      return "restore-guest";
    case DepartureStep::kWithdraw:
      return "withdraw";
  }
  return "unknown";
}

DepartureMachine::DepartureMachine(DepartureActions& actions, DepartureTimes times)
    : machine_(std::make_unique<departure::Machine>(actions, times)) {}
DepartureMachine::~DepartureMachine() = default;

void DepartureMachine::start(const std::string& phase) {
  machine_->initiate();
  machine_->process_event(departure::Recover(phase));
}
void DepartureMachine::process(const DepartureStepSucceeded& event) {
  machine_->process_event(event);
}
void DepartureMachine::process(const DepartureStepFailed& event) {
  machine_->process_event(event);
}
void DepartureMachine::process(const DeadlinePassed& event) {
  machine_->process_event(event);
}
void DepartureMachine::process(const DomainArrived& event) {
  machine_->process_event(event);
}

void DepartureMachine::process(const TryNow& event) {
  machine_->process_event(event);
}

bool DepartureMachine::cancel() {
  machine_->cancel_taken = false;
  machine_->process_event(CancelRequested());
  return machine_->cancel_taken;
}

std::vector<std::string> DepartureMachine::phases() {
  using namespace departure;
  return {Preflight::kPhase,   Reserving::kPhase,      Preparing::kPhase,         Unplugging::kPhase,
          UnplugStuck::kPhase, TakingIdentity::kPhase, AnnouncingRelease::kPhase, Prepared::kPhase,
          Recalling::kPhase,   Transferring::kPhase,   Settling::kPhase,          Handover::kPhase,
          Releasing::kPhase,   Unpreparing::kPhase,    Replugging::kPhase,        RestoringGuest::kPhase,
          Withdrawing::kPhase, Refusing::kPhase,       Completed::kPhase,         Refused::kPhase,
          RolledBack::kPhase};
}

std::string DepartureMachine::phase() const {
  return machine_->phase;
}
bool DepartureMachine::ended() const {
  const std::string_view phase = machine_->phase;
  return phase == departure::Completed::kPhase || phase == departure::Refused::kPhase ||
         phase == departure::RolledBack::kPhase;
}

}  // namespace rdmove
