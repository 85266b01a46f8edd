// What this host remembers of its migrations. A step is written before it is done, and again when it is.
// SQLite behind it (sqlite_journal.hpp opens it); schema and rules in docs/journal.md. Called on the loop
// thread only. A call that returned success is durable; one that failed changed nothing. Texts longer than 4
// KiB (detail, error) are cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/base/clock.hpp"
#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/journal/evacuations.hpp"

namespace rdmove {

/// Persisted: do not renumber.
enum class Role : int { kDeparture = 1, kArrival = 2 };

/// Persisted: do not renumber.
enum class Outcome : int {
  kRunning = 0,
  kCompleted = 1,
  kRefused = 2,
  kRolledBack = 3,
  kDegraded = 4,
  kWithdrawn = 5,
  // 6 is free, and stays so: no version has written it
  kSuperseded = 7  ///< a Degraded arrival whose VM moves on: begin() of the departure says so
};
bool isFinished(Outcome outcome);  ///< kRunning and kDegraded are not
std::string_view toString(Outcome outcome);
std::string_view toString(Role role);

struct MigrationRecord {
  MigrationId id;
  Role role = Role::kDeparture;
  DomainUuid uuid;
  std::string domain;
  HostName partner;
  std::string phase;  ///< the machine's state name
  Outcome outcome = Outcome::kRunning;
  std::string plan;   ///< JSON, plan_json.hpp
  std::string error;  ///< sentence, empty when none
  std::int64_t created_us = 0;
  std::int64_t updated_us = 0;
};

/// Persisted: do not renumber. kGuest is work of the guest's that has just ended; its detail is how many ms
/// it took there.
enum class StepMark : int { kIntent = 1, kDone = 2, kFailed = 3, kNote = 4, kGuest = 5 };

struct StepRecord {
  MigrationId id;
  Role role = Role::kDeparture;
  std::string source;  ///< "hosta departure"; rows told by the partner keep the partner's name
  std::string step;    ///< "Unplugging"
  StepMark mark = StepMark::kIntent;
  std::string detail;
  std::int64_t wall_us = 0;
  std::int64_t boot_ns = 0;
};

struct LeaseRecord {
  MigrationId migration;
  DomainUuid uuid;
  DeviceAlias alias;
  PoolName pool;
  VfName vf;
  bool permanent = false;  ///< the domain was seen arriving: never ends by time any more
  std::int64_t expires_boot_ns = 0;
  std::string boot_id;
};

/// Small named values of one migration that recovery needs ("leases", "released",
/// "identity-before:ua-rdma0").
struct FactRecord {
  std::string name;
  std::string value;
};

/// What a VF was before it got a VM's identity, and what it was given, as the fabric's JSON. It outlives the
/// migration: a VM stays with its VF for months.
struct VfRecord {
  VfName vf;
  std::string before;
  std::string given;
};

class Journal : public EvacuationJournal {
 public:
  /// One unfinished migration per VM and host: kConflict names the other. A departure of a VM whose arrival
  /// here is Degraded supersedes that arrival and frees its leases in the same transaction. So are `facts` kept:
  /// what recovery must know of a migration from its first moment on. Reserves room for the rows to come:
  /// kExhausted when there is none. Times of 0 become now. Drops the oldest finished migrations beyond 1000.
  virtual Result<void> begin(const MigrationRecord&, const std::vector<FactRecord>& facts) = 0;
  Result<void> begin(const MigrationRecord& record) { return begin(record, {}); }
  /// Phase and the intent's step row in one transaction. kConflict when the migration is finished.
  virtual Result<void> enter(const MigrationId&, Role, const std::string& phase) = 0;
  virtual Result<void> mark(const MigrationId&, Role, const std::string& step, StepMark,
                            const std::string& detail) = 0;
  /// Durable end (or kDegraded, which is none and may be followed by one). An end also frees the leases of
  /// the migration. The same end twice is success, another end after an end is kConflict.
  virtual Result<void> finish(const MigrationId&, Role, Outcome, const std::string& error) = 0;
  virtual Result<void> setPlan(const MigrationId&, Role, const std::string& plan_json) = 0;

  virtual Result<void> setFact(const MigrationId&, Role, const std::string& name,
                               const std::string& value) = 0;
  virtual Result<std::vector<FactRecord>> facts(const MigrationId&, Role) = 0;

  /// Step rows of the partner, kept beside ours for the timeline; replaces what that source told before.
  /// At most 1000 rows, kBadInput beyond. Their id and role are ignored.
  virtual Result<void> keepPartnerSteps(const MigrationId&, Role, const std::vector<StepRecord>&) = 0;

  virtual Result<std::optional<MigrationRecord>> find(const MigrationId&, Role) = 0;
  virtual Result<std::vector<MigrationRecord>> list(std::size_t newest) = 0;
  virtual Result<std::vector<MigrationRecord>> unfinished() = 0;
  /// Ours in the order they were written, then the partner's in the order it told them.
  virtual Result<std::vector<StepRecord>> steps(const MigrationId&, Role) = 0;

  /// All or nothing. kExhausted when a VF is leased already to another migration or device; the same lease
  /// again is success and takes the new expiry. An empty boot_id becomes this boot's.
  virtual Result<void> lease(const std::vector<LeaseRecord>&) = 0;
  /// All, expired ones too: what is expired is the caller's to judge, by boot_id and boot clock.
  virtual Result<std::vector<LeaseRecord>> leases() = 0;
  /// kNotFound when the migration has no lease (any more); else idempotent.
  virtual Result<void> makePermanent(const MigrationId&) = 0;
  /// Counts anew from this boot. Permanent leases stay as they are. kNotFound as above.
  virtual Result<void> renewLeases(const MigrationId&, std::int64_t expires_boot_ns) = 0;
  /// None left is success.
  virtual Result<void> freeLeases(const MigrationId&) = 0;

  /// To be written before the VF is touched; replaces what was kept of it. `migration` pays for the room.
  virtual Result<void> keepVf(const MigrationId& migration, const VfRecord&) = 0;
  virtual Result<std::vector<VfRecord>> vfRecords() = 0;
  /// When it is again as it was. Not there is success.
  virtual Result<void> forgetVf(const VfName&) = 0;
};

}  // namespace rdmove
