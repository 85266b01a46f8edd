// One arrival: the machine and what it works with. Created when a partner reserves, or from the journal after
// a restart; it needs nothing of the source once the identity is released. Loop thread only.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "coordinator/migration/arrival.hpp"
#include "coordinator/migration/session.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {

/// Libvirt's word on whether the domain is on this host; kUnavailable while it comes in or libvirt does not
/// answer.
Result<WithdrawAnswer> runsHere(Hypervisor& hypervisor, const DomainUuid& uuid);

/// The fact that says that no source knows of it.
inline constexpr const char* kAdopted = "adopted";
inline constexpr const char* kFabricBefore = "fabric-before";
/// The fact that keeps the boot in which the domain came in; empty once it was seen to fail, kUnseen once it was gone
/// after a time in which nobody looked.
inline constexpr const char* kCameInBoot = "came-in-boot";
inline constexpr const char* kUnseen = "unseen";
/// The host has started anew since, or nobody looked: what the domain did before that nobody saw.
inline bool endUnseen(const std::string& came_in_boot, const Clock& clock) {
  return !came_in_boot.empty() && came_in_boot != clock.bootId();
}

class ArrivalSession : public Session, private ArrivalActions {
 public:
  using Reserved = std::function<void(Result<std::vector<LeasedVf>>)>;

  ArrivalSession(Services& services, MigrationRecord record, Plan plan, std::chrono::milliseconds hold);
  ~ArrivalSession() override;

  /// A new reservation; `reserved` is told the leases, or why not.
  void reserve(Reserved reserved);
  /// Likewise for a domain that runs here already, without its devices, and of which no source will say
  /// anything: the operator has. Goes on to attach them by itself.
  void adopt(Reserved reserved);
  /// Goes on from the journaled phase.
  void recover(const std::string& phase, const std::vector<FactRecord>& facts);

  /// Durable before it returns. kRefused when the reservation is over.
  Result<void> identityReleased(const Traffic& before);
  /// The operator's word in place of the source's.
  Result<void> sourceIsDead();
  /// Frees the lease unless the domain runs here. The answer comes on the loop.
  void withdraw(bool source_runs, std::function<void(Result<WithdrawAnswer>)> answer);
  /// The source is there: the hold starts again, journaled once in a third of it at most.
  void renew();
  /// libvirt is about to take the domain in; kRefused while its devices may still be live at the source.
  Result<void> admit();
  ArrivalReport report();
  /// The VM moves on: this arrival, Degraded, is over in the journal already and does nothing more.
  void supersede();

  const Plan& plan() const { return plan_; }
  const std::vector<LeasedVf>& leases() const { return leases_; }
  bool ended() const override { return machine_.ended(); }
  void onLifecycle(Lifecycle event, LifecycleDetail detail) override;
  void onDeviceRemoved(const DeviceAlias& alias) override;
  void onReconnected() override;

 private:
  using Step = ArrivalStep;

  // ArrivalActions
  void enter(const char* phase) override;
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

  void stage(Attempt attempt);
  /// The host's VFs, and which of them domains have.
  struct HostVfs {
    std::vector<VfInfo> all;
    std::set<VfName> taken;
  };
  Result<HostVfs> hostVfs();
  LeaseRecord leaseOf(const DeviceAlias& alias, const PoolName& pool, const VfName& vf) const;
  void lease(Attempt attempt, HostVfs vfs);
  struct BoundVfs {
    std::vector<LeasedVf> leases;
    IdentityRecords records;
  };
  void bindLeases(Attempt attempt);
  void refuseLeases(Attempt attempt, const Error& why);
  void stageIdentities(Attempt attempt, IdentityRecords records);
  void leasesAreReady(Attempt attempt);
  void takeStaged(std::function<void(Result<void>)> then);
  void observe();
  void observeAgain();
  std::chrono::milliseconds untilShown() const;
  void plug(Attempt attempt);
  /// A failed plug, and the lease whose VF it is about; none when libvirt, the journal or the metadata are.
  struct Unplugged {
    std::optional<std::size_t> vf;
    Error why;
  };
  std::optional<Unplugged> plugOne(const Plan& plan, const LeasedVf& lease, std::size_t index,
                                   const IdentityRecord& record, bool look);
  void plugged(Attempt attempt, Result<void> result);
  void vfFailed(Attempt attempt, std::size_t index, const Error& why);
  std::optional<VfName> another(std::size_t index, HostVfs vfs);
  void exchange(Attempt attempt, std::size_t index, const VfName& next, const Error& why);
  Error allTried(std::size_t index, Error why) const;
  void restoreGuest(Attempt attempt);
  void restoreFailed(Attempt attempt, const Error& why);
  void restoreGuestAs(const MigrationId& prepared_for, Attempt attempt);
  void verify(Attempt attempt);
  void lookAtFabric(Attempt attempt);
  void lookAtApplications(Attempt attempt);
  void lookAtTraffic(Attempt attempt, const std::vector<AgentApplication>& applications);
  void keepFact(const char* name, const std::string& value);
  void keepTraffic(const char* name, const Traffic& traffic);
  void unstage(Attempt attempt);
  void comparePort(const RestoredDevice& device);
  void armHold();
  void keepBoot(const std::string& boot);
  bool mayHaveRun() const;

  Plan plan_;
  FabricWatch fabric_watch_;  // a worker's while a step of ours is with one
  std::vector<LeasedVf> leases_;
  std::chrono::milliseconds hold_;
  Reserved reserved_;
  std::shared_ptr<AgentLink> agent_;
  std::string came_in_boot_;
  bool watched_ = false;  ///< since it was seen coming in, no event can have been missed
  Traffic traffic_restored_;  ///< of VFs, whose counters are not new
  Traffic traffic_after_;
  std::unique_ptr<Timer> look_again_;
  std::unique_ptr<Timer> verify_again_;
  std::chrono::nanoseconds connected_by_{0};  ///< Verify waits for the applications until then
  TimerId hold_timer_{};
  std::chrono::nanoseconds renewed_at_{0};
  std::optional<std::chrono::nanoseconds> admitted_at_;  ///< by the hook, and not yet seen
  std::vector<std::unique_ptr<Timer>> answers_later_;
  std::uint64_t last_attempt_ = 0;
  bool closing_ = false;
  bool superseded_ = false;
  bool adopted_ = false;
  struct SetAside {
    int count = 0;
    std::string why;
  };
  std::map<VfName, SetAside> vfs_that_failed_;  ///< since this daemon's start
  bool plugs_ = false;  ///< a plug, or the exchange that it led to, is with a worker
  std::optional<Attempt> unstages_after_;
  bool look_at_drivers_ = false;  ///< whether the leased VFs are still taken from the host's
  bool observing_again_ = false;
  ArrivalMachine machine_;  ///< last: destroyed first
};

}  // namespace rdmove
