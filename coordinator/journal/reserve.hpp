// Room for the rows to come, so that a disk that fills up does not stop a migration that is under way.
//
// begin() writes a reserve of filler pages and checkpoints: from then on both files have the blocks, the
// database as pages that can be freed for rows, the write-ahead log as a file that is overwritten from its
// start and never shrunk. Each write then keeps some pages free by giving up filler, in its own transaction.
// Sizes: docs/journal.md. Internal to the journal; functions throw SQLite::Exception.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstddef>

#include "coordinator/base/types.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/journal/statements.hpp"

namespace rdmove::journal {

inline constexpr int kPageSize = 4096;
/// Pages that one piece of the reserve gives back when it is given up.
inline constexpr int kChunkPages = 8;
/// 16 chunks of 8 pages of 4 KiB: 512 KiB a migration, and twice its plan on top.
inline constexpr int kReserveChunks = 16;
/// Free pages that a write of small rows finds at its start.
inline constexpr int kFreePages = 8;
/// The log is copied back when it has this many pages. With the largest transaction (a reserve) it stays
/// below what the first begin() has allocated for it.
inline constexpr int kCheckpointPages = 24;

/// In a transaction of its own, then checkpointed. When it throws, dropReserve() is to be called.
void makeReserve(SQLite::Database& db, const MigrationId& id, Role role, std::size_t plan_bytes);

/// Inside a write's transaction, first thing: frees pages for `bytes` of rows out of the migration's reserve
/// (of either role). Without a reserve it does nothing, and the write takes its chance with the disk.
void useReserve(Statements& statements, const MigrationId& id, std::size_t bytes);

void dropReserve(Statements& statements, const MigrationId& id, Role role);

/// Reserves whose migration is finished or never began: what a crash in begin() leaves.
void dropOrphanedReserves(SQLite::Database& db);

}  // namespace rdmove::journal
