#include "coordinator/migration/arrival.hpp"

#include <string_view>

#include "coordinator/migration/arrival_states.hpp"

namespace rdmove {
namespace arrival {

void Machine::unconsumed_event(const sc::event_base&) {
  actions_.unconsumed(phase, "event");
}

sc::result Boot::react(const Recover& event) {
  const std::string_view phase = event.phase;
  if (phase.empty()) return transit<Staging>();
  if (phase == Staging::kPhase || phase == Unstaging::kPhase) return transit<Unstaging>();
  if (phase == Reserved::kPhase) return transit<Reserved>();
  // What happened to the domain meanwhile is asked by Awaiting and Incoming themselves.
  if (phase == Awaiting::kPhase) return transit<Awaiting>();
  if (phase == Incoming::kPhase) return transit<Incoming>();
  if (phase == RestoringGuest::kPhase) return transit<RestoringGuest>();
  if (phase == Verifying::kPhase) return transit<Verifying>();
  if (phase == Freeing::kPhase) return transit<Freeing>();
  if (phase == Abandoning::kPhase) return transit<Abandoning>();
  return transit<Plugging>();
}

sc::result Staging::done() {
  return withdrawn_ ? transit<Unstaging>() : transit<Reserved>();
}
sc::result Staging::react(const WithdrawRequested&) {
  withdrawn_ = true;
  return discard_event();
}
sc::result Staging::failed(const Error& error) {
  failed_ = true;
  world().blame(error);
  return transit<Refused>();
}

sc::result Reserved::react(const IdentityReleased&) {
  return transit<Awaiting>();
}
sc::result Reserved::react(const WithdrawRequested&) {
  return transit<Unstaging>();
}
sc::result Reserved::react(const LeaseExpired&) {
  return transit<Unstaging>();
}
sc::result Reserved::react(const DomainResumed&) {
  failed_ = true;
  world().degrade(Error{ErrorCode::kRefused, "give the arrived domain its RDMA device",
                        "the source never said that it took the identity off its own device",
                        "Bring the source back; if it is lost, say so with rdmove resolve ID --source-is-dead."});
  return discard_event();
}

Awaiting::Awaiting(my_context ctx) : Phase(ctx) {
  world().begin(Step::kObserve);
}
sc::result Awaiting::react(const DomainIncoming&) {
  return transit<Incoming>();
}
sc::result Awaiting::react(const DomainResumed&) {
  return transit<Plugging>();
}
sc::result Awaiting::react(const WithdrawRequested&) {
  return transit<Unstaging>();
}
sc::result Awaiting::react(const LeaseExpired&) {
  return transit<Unstaging>();
}

Incoming::Incoming(my_context ctx) : Phase(ctx) {
  world().begin(Step::kObserve);
}
sc::result Incoming::react(const DomainResumed&) {
  return transit<Plugging>();
}
sc::result Incoming::react(const DomainGone&) {
  failed_ = true;
  return transit<Awaiting>();
}
sc::result Incoming::react(const WithdrawRequested&) {
  return transit<Unstaging>();
}

sc::result Plugging::done() {
  return transit<RestoringGuest>();
}
sc::result Plugging::gone() {
  return transit<Abandoning>();
}
sc::result RestoringGuest::done() {
  return transit<Verifying>();
}
sc::result RestoringGuest::gone() {
  return transit<Abandoning>();
}
sc::result RestoringGuest::lost() {
  return transit<Plugging>();
}
sc::result Verifying::done() {
  return transit<Freeing>();
}
sc::result Verifying::gone() {
  return transit<Abandoning>();
}
sc::result Verifying::lost() {
  return transit<Plugging>();
}
sc::result Freeing::done() {
  return transit<Completed>();
}
sc::result Unstaging::done() {
  return transit<Withdrawn>();
}

Abandoning::Abandoning(my_context ctx) : Working(ctx) {
  world().blame(Error{ErrorCode::kNotFound, "bring the RDMA device back",
                      "the domain ended on this host before it was whole",
                      "Start it again; its definition is right."});
}
sc::result Abandoning::done() {
  return transit<Withdrawn>();
}

}  // namespace arrival

const char* toString(ArrivalStep step) {
  switch (step) {
    case ArrivalStep::kStage:
      return "stage";
    case ArrivalStep::kObserve:
      return "observe";
    case ArrivalStep::kPlug:
      return "plug";
    case ArrivalStep::kRestoreGuest:
      return "restore-guest";
    case ArrivalStep::kVerify:
      return "verify";
    case ArrivalStep::kUnstage:
      return "unstage";
  }
  return "unknown";
}

ArrivalMachine::ArrivalMachine(ArrivalActions& actions, std::chrono::milliseconds attach_budget)
    : machine_(std::make_unique<arrival::Machine>(actions, attach_budget)) {}
ArrivalMachine::~ArrivalMachine() = default;

void ArrivalMachine::start(const std::string& phase) {
  machine_->initiate();
  machine_->process_event(arrival::Recover(phase));
}
void ArrivalMachine::process(const ArrivalStepSucceeded& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const ArrivalStepFailed& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const DeadlinePassed& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const IdentityReleased& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const DomainIncoming& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const DomainResumed& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const DomainGone& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const DeviceLost& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const WithdrawRequested& event) {
  machine_->process_event(event);
}
void ArrivalMachine::process(const LeaseExpired& event) {
  machine_->process_event(event);
}

std::vector<std::string> ArrivalMachine::phases() {
  using namespace arrival;
  return {Staging::kPhase,        Reserved::kPhase,  Awaiting::kPhase, Incoming::kPhase,  Plugging::kPhase,
          RestoringGuest::kPhase, Verifying::kPhase, Freeing::kPhase,  Unstaging::kPhase, Abandoning::kPhase,
          Completed::kPhase,      Refused::kPhase,   Withdrawn::kPhase};
}

std::string ArrivalMachine::phase() const {
  return machine_->phase;
}
bool ArrivalMachine::arrivedIn(std::string_view phase) {
  return phase == arrival::Plugging::kPhase || phase == arrival::RestoringGuest::kPhase ||
         phase == arrival::Verifying::kPhase || phase == arrival::Freeing::kPhase ||
         phase == arrival::Abandoning::kPhase || phase == arrival::Completed::kPhase;
}
bool ArrivalMachine::ended() const {
  const std::string_view phase = machine_->phase;
  return phase == arrival::Completed::kPhase || phase == arrival::Refused::kPhase ||
         phase == arrival::Withdrawn::kPhase;
}

}  // namespace rdmove
