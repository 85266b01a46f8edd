// The journal's schema as an ordered list of small steps; step n makes version n out of version n-1.
// Steps that were released are never edited: a change is a new step. Tables and rules: docs/journal.md.
#pragma once

#include <SQLiteCpp/Database.h>

#include <array>
#include <cstdint>

namespace rdmove::journal {

/// PRAGMA application_id of our files: "rdmv".
inline constexpr std::uint32_t kApplicationId = 0x72646d76;

inline constexpr int kSchemaVersion = 4;

/// The SQL that leads to version index+1.
const std::array<const char*, kSchemaVersion>& schemaSteps();

/// Runs the steps after `from` up to `to`, each with its user_version in one transaction. Throws
/// SQLite::Exception.
void applySchema(SQLite::Database& db, int from, int to);

}  // namespace rdmove::journal
