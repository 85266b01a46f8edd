// All migrations of this host: starts departures, answers partners with arrivals, routes libvirt's events to
// the session they concern, and takes up after a restart what the journal says is unfinished. Loop thread
// only, except the HypervisorListener calls, which post themselves there.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "coordinator/migration/arrival_session.hpp"
#include "coordinator/migration/departure_session.hpp"
#include "coordinator/service/identity_sweep.hpp"

namespace rdmove {

class Coordinator : public HypervisorListener {
 public:
  Coordinator(Services& services, Examiner& examiner);
  ~Coordinator() override;

  /// Sessions for all unfinished rows of the journal.
  Result<void> recover();

  /// `request` names domain, uuid, destination and options; the id is made here.
  Result<MigrationId> depart(Plan request);
  /// Takes a unique prefix of an id. kRefused past the point of no return or when it is over.
  Result<MigrationId> cancel(const std::string& id_or_prefix);
  /// What only the operator knows; kRefused when it decides nothing where the migration stands.
  Result<void> resolve(const MigrationId& id, OperatorWord word);
  /// Gives a domain that runs here the devices of `plan`, which it lacks: no source says anything of them,
  /// the operator has. The id is made here; `reserved` is told whether VFs were found.
  void adopt(Plan plan, std::function<void(Result<MigrationId>)> begun);
  /// The unfinished one of this VM.
  std::optional<MigrationRecord> unfinished(const DomainUuid& uuid) const;
  /// kNotFound, or kBadInput when the prefix fits several.
  Result<MigrationRecord> find(const std::string& id_or_prefix);

  void reserve(Plan plan, std::chrono::milliseconds hold, ArrivalSession::Reserved reserved);
  Result<void> identityReleased(const MigrationId& id, const Traffic& before);
  void withdraw(const MigrationId& id, bool source_runs, std::function<void(Result<WithdrawAnswer>)> answer);
  Result<ArrivalReport> report(const MigrationId& id);
  void renew(const MigrationId& id);
  /// May libvirt take in this domain, whose metadata declares devices that rdmove moves? The hook asks.
  Result<void> admit(const DomainUuid& uuid, const std::string& name);

  /// For the word at a clean stop: what runs on without us.
  std::vector<MigrationRecord> running() const;

  void onLifecycle(const DomainUuid&, Lifecycle, LifecycleDetail) override;
  void onDeviceRemoved(const DomainUuid&, const DeviceAlias&) override;
  void onDeviceRemovalFailed(const DomainUuid&, const DeviceAlias&) override;
  void onMigrationIteration(const DomainUuid&, int iteration) override;
  void onJobCompleted(const DomainUuid&) override;
  void onConnection(bool connected) override;

 private:
  void toSessions(const DomainUuid& uuid, std::function<void(Session&)> what);
  void forgetWhenEnded(const Update& update);
  ArrivalSession* arrival(const MigrationId& id);
  Result<std::shared_ptr<ArrivalSession>> makeArrival(Plan plan, std::chrono::milliseconds hold);

  Services& services_;
  Examiner& examiner_;
  std::uint64_t subscription_ = 0;
  std::map<MigrationId, std::shared_ptr<DepartureSession>> departures_;
  std::map<MigrationId, std::shared_ptr<ArrivalSession>> arrivals_;
  IdentitySweep sweep_;
};

}  // namespace rdmove
