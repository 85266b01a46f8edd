// Opens the journal of this host. One rdmoved per file: a lock file beside it says so. The caller owns the
// journal and calls it on one thread; destroying it is a clean close, and so is kill -9.
#pragma once

#include <filesystem>
#include <memory>

#include "coordinator/base/clock.hpp"
#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/journal/journal.hpp"

namespace rdmove {

/// Room for what a migration will write is made before it begins (docs/journal.md), or is known to be there:
/// the simulation's journals are on a tmpfs, a hundred thousand of them.
enum class Room { kReserved, kPlenty };

/// Creates the file when there is none, upgrades an older schema, refuses (and leaves untouched) what is not
/// ours, from a newer rdmove, damaged, or in use. `host` names the source of our own step rows: "HOST
/// departure"; without it the source is the role alone. `clock` outlives the journal.
Result<std::unique_ptr<Journal>> openJournal(const std::filesystem::path& path, Clock& clock,
                                             const HostName& host = {}, Room room = Room::kReserved);

}  // namespace rdmove
