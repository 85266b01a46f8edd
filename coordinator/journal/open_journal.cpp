#include <SQLiteCpp/Database.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "coordinator/journal/schema.hpp"
#include "coordinator/journal/sqlite_journal_impl.hpp"

namespace rdmove::journal {
namespace {

namespace fs = std::filesystem;

std::string attempting(const fs::path& path) {
  return fmt::format("open the journal {}", path.string());
}

std::string otherPlace(const fs::path& path) {
  return fmt::format("Set daemon.state_dir to another directory, or move {} away.", path.string());
}

Result<void> checkDirectory(const fs::path& path) {
  const fs::path directory = path.parent_path();
  std::error_code ignored;
  if (!fs::exists(directory, ignored)) {
    return failure(
        ErrorCode::kNotFound, attempting(path), fmt::format("there is no directory {}", directory.string()),
        fmt::format("Make it (install -d -m 0700 {}), or set daemon.state_dir.", directory.string()));
  }
  if (!fs::is_directory(directory, ignored)) {
    return failure(ErrorCode::kBadInput, attempting(path),
                   fmt::format("{} is not a directory", directory.string()),
                   "Set daemon.state_dir to a directory.");
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return failure(ErrorCode::kUnavailable, attempting(path),
                   fmt::format("{} is not writable", directory.string()),
                   "Make it writable for rdmoved, or set daemon.state_dir to a directory that is.");
  }
  return {};
}

Error notOurs(const fs::path& path, std::string_view what) {
  return {ErrorCode::kRefused, attempting(path), fmt::format("{} is {}", path.string(), what),
          otherPlace(path)};
}

Error newer(const fs::path& path, std::uint32_t version) {
  return {
      ErrorCode::kIncompatible, attempting(path),
      fmt::format("a newer rdmove wrote it (schema {}, this one knows up to {})", version, kSchemaVersion),
      "Install that rdmove again, or set daemon.state_dir to another directory."};
}

/// Looks at the file's first 100 bytes, as the SQLite file format has them, before SQLite may touch anything.
Result<void> checkHeader(const fs::path& path) {
  std::array<char, 100> header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(header.data(), header.size())) {
    return tl::unexpected<Error>(notOurs(path, file.bad() ? "unreadable" : "no SQLite database"));
  }
  if (std::string_view(header.data(), 16) != std::string_view("SQLite format 3\0", 16)) {
    return tl::unexpected<Error>(notOurs(path, "no SQLite database"));
  }
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(header[at + i]);
    return value;
  };
  if (number(68) != kApplicationId)
    return tl::unexpected<Error>(notOurs(path, "a database, but no journal of rdmove"));
  if (const auto version = number(60); version > kSchemaVersion)
    return tl::unexpected<Error>(newer(path, version));
  return {};
}

void syncDirectory(const fs::path& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

/// Under another name until it is whole, so that a start that was killed leaves nothing half made.
Result<void> create(const fs::path& path) {
  const fs::path unfinished = path.string() + ".new";
  std::error_code error;
  fs::remove(unfinished, error);
  {
    SQLite::Database db(unfinished.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA page_size = " + std::to_string(kPageSize));
    db.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
    applySchema(db, 0, kSchemaVersion);
  }
  fs::permissions(unfinished, fs::perms::owner_read | fs::perms::owner_write, error);
  fs::rename(unfinished, path, error);
  if (error) return failure(ErrorCode::kUnavailable, attempting(path), error.message(), otherPlace(path));
  syncDirectory(path.parent_path());
  return {};
}

/// Keeps the log file over a close: its blocks are part of the reserve.
void keepLog(SQLite::Database& db) {
  int on = 1;
  sqlite3_file_control(db.getHandle(), "main", SQLITE_FCNTL_PERSIST_WAL, &on);
}

Result<std::unique_ptr<SQLite::Database>> openChecked(const fs::path& path) {
  auto db = std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READWRITE);
  // Until the file is accepted nothing is written to it, not even what a crash left in its log.
  sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  keepLog(*db);
  db->exec("PRAGMA locking_mode = EXCLUSIVE");  // also keeps the log's index in memory, off the disk
  db->exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY");
  const int version = db->execAndGet("PRAGMA user_version").getInt();
  if (version > kSchemaVersion) {
    return tl::unexpected<Error>(newer(path, static_cast<std::uint32_t>(version)));
  }
  if (const std::string verdict = db->execAndGet("PRAGMA quick_check(1)").getString(); verdict != "ok") {
    return failure(ErrorCode::kInternal, attempting(path),
                   fmt::format("{} is damaged ({})", path.string(), verdict),
                   "See \"A damaged journal\" in docs/journal.md; nothing was changed.");
  }
  sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  db->execAndGet("PRAGMA journal_mode = WAL");
  db->exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  db->execAndGet("PRAGMA wal_autocheckpoint = " + std::to_string(kCheckpointPages));
  applySchema(*db, version, kSchemaVersion);
  return db;
}

}  // namespace

Result<std::unique_ptr<Journal>> open(const fs::path& path, Clock& clock, const HostName& host, Room room) {
  if (auto directory = checkDirectory(path); !directory) return tl::unexpected<Error>(directory.error());
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (exists) {
    if (auto header = checkHeader(path); !header) return tl::unexpected<Error>(header.error());
  }
  auto lock = StateLock::take(path.string() + ".lock");
  if (!lock) return tl::unexpected<Error>(lock.error());
  if (!fs::exists(path, error)) {
    if (auto created = create(path); !created) return tl::unexpected<Error>(created.error());
  }
  auto db = openChecked(path);
  if (!db) return tl::unexpected<Error>(db.error());
  try {
    dropOrphanedReserves(**db);
  } catch (const SQLite::Exception&) {
    // A full disk: the journal can be read and its running migrations have their room. begin() tries again.
  }
  return std::make_unique<SqliteJournal>(path, std::move(*lock), std::move(*db), clock, host, room);
}

}  // namespace rdmove::journal

namespace rdmove {

Result<std::unique_ptr<Journal>> openJournal(const std::filesystem::path& path, Clock& clock,
                                             const HostName& host, Room room) {
  return journal::guarded(
      path, [&] { return journal::attempting(path); },
      [&] { return journal::open(path, clock, host, room); });
}

}  // namespace rdmove
