// What VFs were before they got an identity: the journal's part that outlives migrations.
#include "coordinator/journal/sqlite_journal_impl.hpp"

namespace rdmove::journal {

Result<void> SqliteJournal::keepVf(const MigrationId& migration, const VfRecord& record) {
  const std::size_t bytes = record.vf.str().size() + record.before.size() + record.given.size();
  return write("keep what a VF was before", migration, bytes, [&]() -> Result<void> {
    auto upsert = statements_(
        "INSERT INTO vfs VALUES (?, ?, ?, ?) ON CONFLICT (vf) DO UPDATE SET "
        "before = excluded.before, given = excluded.given, since_us = excluded.since_us");
    upsert->bind(1, record.vf.str());
    upsert->bind(2, record.before);
    upsert->bind(3, record.given);
    upsert->bind(4, wallNow());
    upsert->exec();
    return {};
  });
}

Result<std::vector<VfRecord>> SqliteJournal::vfRecords() {
  const MigrationId all;
  return guarded(path_, attempt("read what VFs were before", all), [&]() -> Result<std::vector<VfRecord>> {
    auto rows = statements_("SELECT vf, before, given FROM vfs ORDER BY vf");
    std::vector<VfRecord> found;
    while (rows->executeStep()) {
      found.push_back({VfName(rows->getColumn(0).getString()), rows->getColumn(1).getString(),
                       rows->getColumn(2).getString()});
    }
    return found;
  });
}

Result<void> SqliteJournal::forgetVf(const VfName& vf) {
  const MigrationId none;
  return write("forget what a VF was before", none, 0, [&]() -> Result<void> {
    auto forget = statements_("DELETE FROM vfs WHERE vf = ?");
    forget->bind(1, vf.str());
    forget->exec();
    return {};
  });
}

}  // namespace rdmove::journal
