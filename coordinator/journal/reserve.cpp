#include "coordinator/journal/reserve.hpp"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

namespace rdmove::journal {
namespace {

// An overflow page holds the page less a 4-byte link: this many bytes fill whole pages of their own.
constexpr int kChunkBytes = kChunkPages * (kPageSize - 4);

int chunksFor(std::size_t plan_bytes) {
  return kReserveChunks + static_cast<int>(2 * plan_bytes / static_cast<std::size_t>(kChunkBytes));
}

}  // namespace

void makeReserve(SQLite::Database& db, const MigrationId& id, Role role, std::size_t plan_bytes) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  SQLite::Statement insert(db,
                           "INSERT INTO reserve (migration, role, n, filler) VALUES (?, ?, ?, zeroblob(?))");
  for (int n = 0; n < chunksFor(plan_bytes); ++n) {
    insert.bind(1, id.str());
    insert.bind(2, static_cast<int>(role));
    insert.bind(3, n);
    insert.bind(4, kChunkBytes);
    insert.exec();
    insert.reset();
  }
  transaction.commit();
  // RESTART: the database file grows now or never, and the next write starts at the log's beginning.
  db.exec("PRAGMA wal_checkpoint(RESTART)");
}

void useReserve(Statements& statements, const MigrationId& id, std::size_t bytes) {
  const int wanted = kFreePages + static_cast<int>(2 * bytes / kPageSize);
  const auto free = [&] {
    const auto count = statements("PRAGMA freelist_count");
    return count->executeStep() ? count->getColumn(0).getInt() : 0;
  };
  const auto give =
      statements("DELETE FROM reserve WHERE rowid = (SELECT rowid FROM reserve WHERE migration = ? LIMIT 1)");
  give->bind(1, id.str());
  while (free() < wanted && give->exec() > 0) give->reset();
}

void dropReserve(Statements& statements, const MigrationId& id, Role role) {
  const auto drop = statements("DELETE FROM reserve WHERE migration = ? AND role = ?");
  drop->bind(1, id.str());
  drop->bind(2, static_cast<int>(role));
  drop->exec();
}

void dropOrphanedReserves(SQLite::Database& db) {
  db.exec(
      "DELETE FROM reserve WHERE NOT EXISTS (SELECT 1 FROM migrations WHERE id = reserve.migration "
      "AND role = reserve.role AND outcome IN (0, 4))");
}

}  // namespace rdmove::journal
