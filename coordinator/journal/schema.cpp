#include "coordinator/journal/schema.hpp"

#include <SQLiteCpp/Transaction.h>

#include <string>

namespace rdmove::journal {
namespace {

// outcome 0 and 4: Outcome::kRunning and kDegraded, the unfinished ones.
constexpr const char* kBaseTables = R"sql(
CREATE TABLE migrations (
  id TEXT NOT NULL, role INTEGER NOT NULL CHECK (role IN (1, 2)),
  uuid TEXT NOT NULL, domain TEXT NOT NULL, partner TEXT NOT NULL,
  phase TEXT NOT NULL, outcome INTEGER NOT NULL, plan TEXT NOT NULL, error TEXT NOT NULL,
  created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL,
  PRIMARY KEY (id, role)) STRICT;
CREATE UNIQUE INDEX one_unfinished_per_domain ON migrations (uuid) WHERE outcome IN (0, 4);
CREATE TABLE steps (
  seq INTEGER PRIMARY KEY,
  migration TEXT NOT NULL, role INTEGER NOT NULL, told INTEGER NOT NULL CHECK (told IN (0, 1)),
  source TEXT NOT NULL, step TEXT NOT NULL, mark INTEGER NOT NULL, detail TEXT NOT NULL,
  wall_us INTEGER NOT NULL, boot_ns INTEGER NOT NULL,
  FOREIGN KEY (migration, role) REFERENCES migrations (id, role) ON DELETE CASCADE) STRICT;
CREATE INDEX steps_of_migration ON steps (migration, role, told, seq);
CREATE TABLE facts (
  migration TEXT NOT NULL, role INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (migration, role, name),
  FOREIGN KEY (migration, role) REFERENCES migrations (id, role) ON DELETE CASCADE) STRICT;
CREATE TABLE leases (
  vf TEXT PRIMARY KEY NOT NULL, migration TEXT NOT NULL, uuid TEXT NOT NULL, alias TEXT NOT NULL, pool TEXT NOT NULL,
  permanent INTEGER NOT NULL CHECK (permanent IN (0, 1)),
  expires_boot_ns INTEGER NOT NULL, boot_id TEXT NOT NULL) STRICT;
CREATE INDEX leases_of_migration ON leases (migration);
)sql";

// No foreign key: the room is made before the migration's row (reserve.hpp says why).
constexpr const char* kReserveAndAge = R"sql(
CREATE TABLE reserve (
  migration TEXT NOT NULL, role INTEGER NOT NULL, n INTEGER NOT NULL, filler BLOB NOT NULL,
  PRIMARY KEY (migration, role, n)) STRICT;
CREATE INDEX migrations_by_age ON migrations (created_us);
)sql";

// Without its migration: what a VF was before is wanted as long as a VM has it.
constexpr const char* kVfRecords = R"sql(
CREATE TABLE vfs (
  vf TEXT PRIMARY KEY NOT NULL, before TEXT NOT NULL, given TEXT NOT NULL, since_us INTEGER NOT NULL) STRICT;
)sql";

constexpr const char* kEvacuations = R"sql(
CREATE TABLE evacuations (
  id TEXT PRIMARY KEY NOT NULL, request TEXT NOT NULL,
  cancelled INTEGER NOT NULL CHECK (cancelled IN (0, 1)), outcome INTEGER NOT NULL,
  created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX one_unfinished_evacuation ON evacuations (outcome) WHERE outcome = 0;
CREATE TABLE evacuated (
  evacuation TEXT NOT NULL, uuid TEXT NOT NULL, domain TEXT NOT NULL, need TEXT NOT NULL, state INTEGER NOT NULL,
  destination TEXT NOT NULL, migration TEXT NOT NULL, reason TEXT NOT NULL, tried TEXT NOT NULL,
  began_us INTEGER NOT NULL, ended_us INTEGER NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (evacuation, uuid),
  FOREIGN KEY (evacuation) REFERENCES evacuations (id) ON DELETE CASCADE) STRICT;
)sql";

}  // namespace

const std::array<const char*, kSchemaVersion>& schemaSteps() {
  static const std::array<const char*, kSchemaVersion> steps{kBaseTables, kReserveAndAge, kVfRecords,
                                                             kEvacuations};
  return steps;
}

void applySchema(SQLite::Database& db, int from, int to) {
  for (int version = from + 1; version <= to; ++version) {
    SQLite::Transaction step(db, SQLite::TransactionBehavior::IMMEDIATE);
    db.exec(schemaSteps().at(static_cast<std::size_t>(version - 1)));
    db.exec("PRAGMA user_version = " + std::to_string(version));
    step.commit();
  }
}

}  // namespace rdmove::journal
