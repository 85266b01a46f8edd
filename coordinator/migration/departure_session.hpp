// One departure: the machine and what it works with. Created by the coordinator for a new migration, or from
// the journal after a restart. Loop thread only. Files: departure_session.cpp (dispatch, events),
// departure_steps.cpp (the way there), departure_rollback.cpp (the way back), departure_prepared.cpp (another mover),
// departure_transfer.cpp (libvirt's migration), departure_settle.cpp (who runs the domain).
#pragma once

#include <optional>
#include <set>

#include "coordinator/migration/departure.hpp"
#include "coordinator/migration/operator_word.hpp"
#include "coordinator/migration/session.hpp"
#include "coordinator/migration/transfer_samples.hpp"
#include "coordinator/preflight/examiner.hpp"

namespace rdmove {

/// Of a domain that does not run here: the partner had let it in, or it has ended. kTimeout when the partner does not
/// know, and what the call to it says when it is silent; `word` stands for it then. Blocks; workers only.
Result<bool> wentThere(Partners& partners, const Plan& plan, std::optional<OperatorWord> word);

class DepartureSession : public Session, private DepartureActions {
 public:
  /// `journaled` is empty for a new migration; `record.plan` then holds only the request (plan_json).
  /// With an inherited debt it also has the arrival's devices, and `facts` of start() say which VFs they had.
  DepartureSession(Services& services, Examiner& examiner, MigrationRecord record, Plan request,
                   Debt debt = Debt::kNone);
  ~DepartureSession() override;

  /// Starts a new one, or goes on from the journaled phase with the journaled facts.
  void start(const std::string& phase, const std::vector<FactRecord>& facts);
  /// Journaled, so that a restart does not forget it. False past the point of no return, or when it is over.
  bool cancel();
  /// Journaled, and acted on at once. kRefused in a phase that does not need it (predicamentOf).
  Result<void> take(OperatorWord word);
  bool ended() const override { return machine_.ended(); }
  const Plan& plan() const { return plan_; }

  void onLifecycle(Lifecycle event, LifecycleDetail detail) override;
  void onDeviceRemoved(const DeviceAlias& alias) override;
  void onDeviceRemovalFailed(const DeviceAlias& alias) override;
  void onMigrationIteration(int iteration) override;
  void onJobCompleted() override;
  void onReconnected() override;

 private:
  using Step = DepartureStep;

  // DepartureActions
  void enter(const char* phase) override { enterPhase(phase); }
  void leave(const char* phase, bool failed) override;
  Attempt begin(Step step) override;
  TimerId arm(std::chrono::milliseconds after) override { return armTimer(after); }
  void disarm(TimerId timer) override { disarmTimer(timer); }
  void blame(const Error& error) override { keepBlame(error); }
  void degrade(const Error& error) override { sayDegraded(error); }
  void conclude(Outcome outcome) override;
  void unconsumed(const char* state, const char* event) override;

  void timerPassed(TimerId timer) override;
  void answer(Step step, Attempt attempt, Result<void> result);
  /// Most steps: work in a worker, answer with its result.
  void inWorker(Step step, Attempt attempt, std::function<Result<void>()> work);

  void examine(Attempt attempt);
  void reserve(Attempt attempt);
  void prepareGuest(Attempt attempt);
  void unplug(Attempt attempt);
  /// Keeps them from everybody else until the departure is over: the way back needs these very VFs.
  Result<void> holdSourceVfs();
  void lookWhetherRemoved();
  void abortTransfer();
  void takeIdentity(Attempt attempt);
  void announceRelease(Attempt attempt);
  void replug(Attempt attempt);
  void restoreGuest(Attempt attempt);
  void nameHoldouts();
  void askForUnplugAgain();
  void withdraw(Attempt attempt);

  void recallHold(const std::string& fact);
  void awaitMover(Attempt attempt);
  void lookForMover();
  void recall(Attempt attempt);

  void transfer(Attempt attempt);
  void startTransfer();
  void adoptTransfer();
  void transferEnded(Result<void> result);
  void watchProgress();
  void readProgress(bool start_postcopy);
  /// `then` goes on when it is this host's; without it the step has succeeded.
  void settle(Step step, Attempt attempt, std::function<void()> then = {});
  /// It runs, or has run, at the destination: what runs here from now on is a second copy.
  void arrivedThere();
  void rememberSwitch();
  void pauseSecondCopy();
  void awaitArrival(Attempt attempt);
  void returnVf(Attempt attempt);
  void checkArrival();
  void askWhetherItCame();
  void follow();
  void followLater(const Error& error);
  void partnerReported(ArrivalReport report);

  std::shared_ptr<AgentLink> agent();
  const PartnerConfig& partnerConfig() const;
  void remember(const std::string& name, const std::string& value);

  Examiner& examiner_;
  Plan plan_;
  const Debt debt_;
  std::vector<LeasedVf> leases_;
  std::map<DeviceAlias, VfName> source_vfs_;
  std::set<DeviceAlias> leaving_;  ///< asked to leave, not yet proven gone
  std::optional<Attempt> unplug_attempt_;
  bool asking_again_ = false;  ///< a worker asks for the unplug once more
  std::optional<Attempt> transfer_attempt_;
  std::optional<Attempt> arrival_attempt_;
  std::optional<Attempt> mover_attempt_;
  std::chrono::nanoseconds held_until_{0};  ///< CLOCK_BOOTTIME; 0 after a reboot: it has passed
  int recalls_ = 0;
  bool announced_ = false;  ///< the partner may let the VM in from now on, whoever moves it
  bool transfer_started_ = false;  ///< journaled before the call: libvirt may be migrating
  bool transfer_running_ = false;  ///< our own call has not returned
  bool transfer_over_ = false;
  bool adopting_ = false;
  bool switched_ = false;  ///< libvirt paused the domain here for the switch, and nobody has said since
                           ///< that it does not run at the destination
  bool canceled_before_ = false;  ///< an earlier job had been canceled at its switch: no sign for this one
  bool postcopy_asked_ = false;
  bool abort_wanted_ = false;  ///< asked of libvirt at each tick until the job has ended
  bool told_adoption_ = false;
  bool domain_ended_ = false;  ///< shut off or gone on this host, by itself: nothing to plug or restore
  std::string ended_there_;    ///< why the arrival ended otherwise than completed
  std::optional<OperatorWord> word_;
  std::chrono::nanoseconds partner_heard_{0};
  std::optional<ArrivalReport> report_;
  TransferSamples samples_;
  Traffic traffic_before_;  ///< as the guest said it at prepare
  std::unique_ptr<Following> following_;
  std::unique_ptr<Timer> follow_again_;
  std::unique_ptr<Timer> progress_timer_;
  std::unique_ptr<Timer> ask_there_;
  std::unique_ptr<Timer> mover_timer_;
  std::unique_ptr<Timer> ask_again_;  ///< for holdouts that could not be named yet
  std::shared_ptr<AgentLink> agent_;
  std::uint64_t last_attempt_ = 0;
  bool closing_ = false;
  DepartureMachine machine_;  ///< last: destroyed first
};

}  // namespace rdmove
