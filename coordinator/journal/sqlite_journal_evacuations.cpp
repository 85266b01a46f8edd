// The journal's part about evacuations. Their rows are small and few, and have no reserve: an evacuation that
// cannot be journaled begins nothing more.
#include "coordinator/journal/sqlite_journal_impl.hpp"

namespace rdmove::journal {
namespace {

constexpr int kFinishedKept = 100;

auto attemptOf(std::string_view what, const EvacuationId& id) {
  return [what, &id] { return id.empty() ? std::string(what) : fmt::format("{} {}", what, id.str()); };
}

Result<void> unknownEvacuation(const EvacuationId& id) {
  return failure(ErrorCode::kNotFound, fmt::format("write down what becomes of {}", id.str()),
                 "this host's journal has no evacuation of that name, or no such VM in it",
                 "`rdmove list` names those that it has.");
}

void bindVm(SQLite::Statement& row, const EvacuationId& id, const EvacuatedVm& vm) {
  row.bind(1, id.str());
  row.bind(2, vm.uuid.str());
  row.bind(3, vm.domain);
  row.bind(4, vm.need);
  row.bind(5, static_cast<int>(vm.state));
  row.bind(6, vm.destination.str());
  row.bind(7, vm.migration.str());
  row.bind(8, cut(vm.reason));
  row.bind(9, vm.tried);
  row.bind(10, vm.began_us);
  row.bind(11, vm.ended_us);
}

}  // namespace

Result<void> SqliteJournal::beginEvacuation(const EvacuationRecord& record,
                                            const std::vector<EvacuatedVm>& vms) {
  std::size_t bytes = record.request.size();
  for (const EvacuatedVm& vm : vms) bytes += 256 + vm.need.size() + vm.reason.size();
  const MigrationId none;
  return write("begin an evacuation", none, bytes, [&]() -> Result<void> {
    SQLite::Statement other(*db_, "SELECT id FROM evacuations WHERE outcome = 0");
    if (other.executeStep()) {
      const std::string id = other.getColumn(0).getString();
      return failure(
          ErrorCode::kConflict, "begin an evacuation", fmt::format("{} is not over", id),
          fmt::format("Follow it with 'rdmove watch {0}', or end it with 'rdmove cancel {0}'.", id));
    }
    SQLite::Statement insert(*db_, "INSERT INTO evacuations VALUES (?, ?, ?, ?, ?, ?)");
    insert.bind(1, record.id.str());
    insert.bind(2, record.request);
    insert.bind(3, record.cancelled ? 1 : 0);
    insert.bind(4, static_cast<int>(record.outcome));
    insert.bind(5, record.created_us != 0 ? record.created_us : wallNow());
    insert.bind(6, record.updated_us != 0 ? record.updated_us : wallNow());
    insert.exec();
    SQLite::Statement row(*db_, "INSERT INTO evacuated VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    int n = 0;
    for (const EvacuatedVm& vm : vms) {
      bindVm(row, record.id, vm);
      row.bind(12, n++);
      row.exec();
      row.reset();
    }
    SQLite::Statement forget(*db_,
                             "DELETE FROM evacuations WHERE rowid IN (SELECT rowid FROM evacuations WHERE "
                             "outcome <> 0 ORDER BY created_us DESC, rowid DESC LIMIT -1 OFFSET ?)");
    forget.bind(1, kFinishedKept);
    forget.exec();
    return {};
  });
}

Result<void> SqliteJournal::keepEvacuated(const EvacuationId& id, const EvacuatedVm& vm) {
  // Of the migration that is about to begin there is no reserve yet; of one that runs there is.
  return write("keep a VM of an evacuation", vm.migration,
               vm.need.size() + vm.reason.size() + vm.tried.size(), [&]() -> Result<void> {
                 SQLite::Statement update(
                     *db_,
                     "UPDATE evacuated SET domain = ?3, need = ?4, state = ?5, destination = ?6, "
                     "migration = ?7, reason = ?8, tried = ?9, began_us = ?10, ended_us = ?11 "
                     "WHERE evacuation = ?1 AND uuid = ?2");
                 bindVm(update, id, vm);
                 if (update.exec() == 0) return unknownEvacuation(id);
                 SQLite::Statement touch(*db_, "UPDATE evacuations SET updated_us = ?2 WHERE id = ?1");
                 touch.bind(1, id.str());
                 touch.bind(2, wallNow());
                 touch.exec();
                 return {};
               });
}

Result<void> SqliteJournal::cancelEvacuation(const EvacuationId& id) {
  const MigrationId none;
  return write("cancel an evacuation", none, 0, [&]() -> Result<void> {
    SQLite::Statement update(*db_, "UPDATE evacuations SET cancelled = 1, updated_us = ?2 WHERE id = ?1");
    update.bind(1, id.str());
    update.bind(2, wallNow());
    return update.exec() == 0 ? unknownEvacuation(id) : Result<void>();
  });
}

Result<void> SqliteJournal::finishEvacuation(const EvacuationId& id, EvacuationOutcome outcome) {
  const MigrationId none;
  return write("finish an evacuation", none, 0, [&]() -> Result<void> {
    SQLite::Statement update(*db_, "UPDATE evacuations SET outcome = ?2, updated_us = ?3 WHERE id = ?1");
    update.bind(1, id.str());
    update.bind(2, static_cast<int>(outcome));
    update.bind(3, wallNow());
    return update.exec() == 0 ? unknownEvacuation(id) : Result<void>();
  });
}

Result<std::vector<EvacuationRecord>> SqliteJournal::evacuations() {
  const EvacuationId all;
  return guarded(path_, attemptOf("read the evacuations", all),
                 [&]() -> Result<std::vector<EvacuationRecord>> {
                   SQLite::Statement rows(
                       *db_,
                       "SELECT id, request, cancelled, outcome, created_us, updated_us FROM evacuations "
                       "ORDER BY created_us DESC, rowid DESC");
                   std::vector<EvacuationRecord> found;
                   while (rows.executeStep()) {
                     EvacuationRecord record;
                     record.id = EvacuationId(rows.getColumn(0).getString());
                     record.request = rows.getColumn(1).getString();
                     record.cancelled = rows.getColumn(2).getInt() != 0;
                     record.outcome = static_cast<EvacuationOutcome>(rows.getColumn(3).getInt());
                     record.created_us = rows.getColumn(4).getInt64();
                     record.updated_us = rows.getColumn(5).getInt64();
                     found.push_back(std::move(record));
                   }
                   return found;
                 });
}

Result<std::vector<EvacuatedVm>> SqliteJournal::evacuated(const EvacuationId& id) {
  return guarded(path_, attemptOf("read", id), [&]() -> Result<std::vector<EvacuatedVm>> {
    SQLite::Statement rows(*db_,
                           "SELECT uuid, domain, need, state, destination, migration, reason, tried, "
                           "began_us, ended_us FROM evacuated WHERE evacuation = ? ORDER BY n");
    rows.bind(1, id.str());
    std::vector<EvacuatedVm> found;
    while (rows.executeStep()) {
      EvacuatedVm vm;
      vm.uuid = DomainUuid(rows.getColumn(0).getString());
      vm.domain = rows.getColumn(1).getString();
      vm.need = rows.getColumn(2).getString();
      vm.state = static_cast<EvacuatedState>(rows.getColumn(3).getInt());
      vm.destination = HostName(rows.getColumn(4).getString());
      vm.migration = MigrationId(rows.getColumn(5).getString());
      vm.reason = rows.getColumn(6).getString();
      vm.tried = rows.getColumn(7).getString();
      vm.began_us = rows.getColumn(8).getInt64();
      vm.ended_us = rows.getColumn(9).getInt64();
      found.push_back(std::move(vm));
    }
    return found;
  });
}

}  // namespace rdmove::journal
