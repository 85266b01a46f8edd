// The leases' half of the journal.
#include "coordinator/journal/sqlite_journal_impl.hpp"

namespace rdmove::journal {
namespace {

Result<void> noLease(const std::string& attempted) {
  return failure(ErrorCode::kNotFound, attempted, "it has no lease (any more)", {});
}

}  // namespace

Result<void> SqliteJournal::lease(const std::vector<LeaseRecord>& leases) {
  const MigrationId id = leases.empty() ? MigrationId() : leases.front().migration;
  return write("lease VFs", id, 256 * leases.size(), [&]() -> Result<void> {
    auto holder = statements_("SELECT migration, alias FROM leases WHERE vf = ?");
    auto upsert = statements_(
        "INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (vf) DO UPDATE SET "
        "expires_boot_ns = excluded.expires_boot_ns, boot_id = excluded.boot_id, "
        "permanent = max(permanent, excluded.permanent)");
    for (const LeaseRecord& lease : leases) {
      holder->bind(1, lease.vf.str());
      if (holder->executeStep() && (holder->getColumn(0).getString() != lease.migration.str() ||
                                    holder->getColumn(1).getString() != lease.alias.str())) {
        return failure(ErrorCode::kExhausted, fmt::format("lease {}", lease.vf.str()),
                       fmt::format("it is leased to {} of migration {}", holder->getColumn(1).getString(),
                                   holder->getColumn(0).getString()),
                       "`rdmove vf list` shows what is free.");
      }
      holder->reset();
      upsert->bind(1, lease.vf.str());
      upsert->bind(2, lease.migration.str());
      upsert->bind(3, lease.uuid.str());
      upsert->bind(4, lease.alias.str());
      upsert->bind(5, lease.pool.str());
      upsert->bind(6, lease.permanent ? 1 : 0);
      upsert->bind(7, lease.expires_boot_ns);
      upsert->bind(8, lease.boot_id.empty() ? clock_.bootId() : lease.boot_id);
      upsert->exec();
      upsert->reset();
    }
    return {};
  });
}

Result<std::vector<LeaseRecord>> SqliteJournal::leases() {
  const MigrationId all;
  return guarded(path_, attempt("read the leases", all), [&]() -> Result<std::vector<LeaseRecord>> {
    auto rows = statements_(
        "SELECT migration, uuid, alias, pool, vf, permanent, expires_boot_ns, boot_id FROM leases "
        "ORDER BY pool, vf");
    std::vector<LeaseRecord> found;
    while (rows->executeStep()) {
      LeaseRecord lease;
      lease.migration = MigrationId(rows->getColumn(0).getString());
      lease.uuid = DomainUuid(rows->getColumn(1).getString());
      lease.alias = DeviceAlias(rows->getColumn(2).getString());
      lease.pool = PoolName(rows->getColumn(3).getString());
      lease.vf = VfName(rows->getColumn(4).getString());
      lease.permanent = rows->getColumn(5).getInt() != 0;
      lease.expires_boot_ns = rows->getColumn(6).getInt64();
      lease.boot_id = rows->getColumn(7).getString();
      found.push_back(std::move(lease));
    }
    return found;
  });
}

Result<void> SqliteJournal::makePermanent(const MigrationId& id) {
  return write("keep the leases", id, 0, [&]() -> Result<void> {
    auto update = statements_("UPDATE leases SET permanent = 1 WHERE migration = ?");
    update->bind(1, id.str());
    if (update->exec() == 0) return noLease(attempt("keep the leases", id)());
    return {};
  });
}

Result<void> SqliteJournal::renewLeases(const MigrationId& id, std::int64_t expires_boot_ns) {
  return write("renew the leases", id, 0, [&]() -> Result<void> {
    auto update = statements_(
        "UPDATE leases SET expires_boot_ns = iif(permanent, expires_boot_ns, ?2), "
        "boot_id = iif(permanent, boot_id, ?3) WHERE migration = ?1");
    update->bind(1, id.str());
    update->bind(2, expires_boot_ns);
    update->bind(3, clock_.bootId());
    if (update->exec() == 0) return noLease(attempt("renew the leases", id)());
    return {};
  });
}

Result<void> SqliteJournal::freeLeases(const MigrationId& id) {
  return write("free the leases", id, 0, [&]() -> Result<void> {
    auto free = statements_("DELETE FROM leases WHERE migration = ?");
    free->bind(1, id.str());
    free->exec();
    return {};
  });
}

}  // namespace rdmove::journal
