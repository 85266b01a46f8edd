// The journal over one SQLite connection. Internal: callers use sqlite_journal.hpp. One thread.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/journal/reserve.hpp"
#include "coordinator/journal/sqlite_error.hpp"
#include "coordinator/journal/sqlite_journal.hpp"
#include "coordinator/journal/state_lock.hpp"
#include "coordinator/journal/statements.hpp"

namespace rdmove::journal {

inline constexpr std::size_t kLongestText = 4096;
/// At most kLongestText bytes, never ending inside a UTF-8 character.
std::string cut(const std::string& text);

class SqliteJournal : public Journal {
 public:
  SqliteJournal(std::filesystem::path path, StateLock lock, std::unique_ptr<SQLite::Database> db,
                Clock& clock, HostName host, Room room);

  Result<void> begin(const MigrationRecord& record, const std::vector<FactRecord>& facts) override;
  Result<void> enter(const MigrationId& id, Role role, const std::string& phase) override;
  Result<void> mark(const MigrationId& id, Role role, const std::string& step, StepMark mark,
                    const std::string& detail) override;
  Result<void> finish(const MigrationId& id, Role role, Outcome outcome, const std::string& error) override;
  Result<void> setPlan(const MigrationId& id, Role role, const std::string& plan_json) override;
  Result<void> setFact(const MigrationId& id, Role role, const std::string& name,
                       const std::string& value) override;
  Result<std::vector<FactRecord>> facts(const MigrationId& id, Role role) override;
  Result<void> keepPartnerSteps(const MigrationId& id, Role role,
                                const std::vector<StepRecord>& steps) override;
  Result<std::optional<MigrationRecord>> find(const MigrationId& id, Role role) override;
  Result<std::vector<MigrationRecord>> list(std::size_t newest) override;
  Result<std::vector<MigrationRecord>> unfinished() override;
  Result<std::vector<StepRecord>> steps(const MigrationId& id, Role role) override;
  Result<void> lease(const std::vector<LeaseRecord>& leases) override;
  Result<std::vector<LeaseRecord>> leases() override;
  Result<void> makePermanent(const MigrationId& id) override;
  Result<void> renewLeases(const MigrationId& id, std::int64_t expires_boot_ns) override;
  Result<void> freeLeases(const MigrationId& id) override;
  Result<void> keepVf(const MigrationId& migration, const VfRecord& record) override;
  Result<std::vector<VfRecord>> vfRecords() override;
  Result<void> forgetVf(const VfName& vf) override;
  Result<void> beginEvacuation(const EvacuationRecord& record, const std::vector<EvacuatedVm>& vms) override;
  Result<void> keepEvacuated(const EvacuationId& id, const EvacuatedVm& vm) override;
  Result<void> cancelEvacuation(const EvacuationId& id) override;
  Result<void> finishEvacuation(const EvacuationId& id, EvacuationOutcome outcome) override;
  Result<std::vector<EvacuationRecord>> evacuations() override;
  Result<std::vector<EvacuatedVm>> evacuated(const EvacuationId& id) override;

 private:
  /// Runs `operation` (returning Result<void>) in a write transaction that commits when it succeeds. `bytes`
  /// of rows are expected; room for them comes out of the reserve of `id`.
  template <class Operation>
  Result<void> write(std::string_view what, const MigrationId& id, std::size_t bytes, Operation&& operation) {
    return guarded(path_, attempt(what, id), [&]() -> Result<void> {
      SQLite::Transaction transaction(*db_, SQLite::TransactionBehavior::IMMEDIATE);
      useReserve(statements_, id, bytes);
      Result<void> result = operation();
      if (result) transaction.commit();
      return result;
    });
  }

  /// Attempted-text of an Error, made only when needed.
  static auto attempt(std::string_view what, const MigrationId& id) {
    return [what, &id] {
      return id.empty() ? std::string(what) : fmt::format("{} of migration {}", what, id.str());
    };
  }

  Statements::Use statement(const std::string& sql, const MigrationId& id, Role role);
  Result<void> insertMigration(const MigrationRecord& record);
  void upsertFact(const MigrationId& id, Role role, const FactRecord& fact);
  void insertStep(const MigrationId& id, Role role, const std::string& step, StepMark mark,
                  const std::string& detail);
  Result<std::vector<MigrationRecord>> migrations(const char* sql, std::int64_t limit);
  Result<void> unknown(std::string_view what, const MigrationId& id, Role role) const;
  std::int64_t wallNow() const;

  std::filesystem::path path_;
  StateLock lock_;
  std::unique_ptr<SQLite::Database> db_;  // closed before the lock is given up
  Statements statements_;
  Clock& clock_;
  HostName host_;
  Room room_;
};

}  // namespace rdmove::journal
