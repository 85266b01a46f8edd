#include "migration-tests/harness/journal_copy.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <stdlib.h>

namespace rdmove::harness {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "rdmove-journal-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

JournalRows rowsOf(const SQLite::Database& db, const std::string& vm_uuid) {
  JournalRows rows;
  SQLite::Statement leases(db, "SELECT vf || ' of ' || migration FROM leases ORDER BY vf");
  while (leases.executeStep()) rows.leases.push_back(leases.getColumn(0).getString());
  SQLite::Statement unfinished(
      db,
      "SELECT id || iif(role = 1, ' departure', ' arrival') || ' in ' || phase FROM migrations "
      "WHERE uuid = ? AND outcome IN (0, 4)");
  unfinished.bind(1, vm_uuid);
  while (unfinished.executeStep()) rows.unfinished.push_back(unfinished.getColumn(0).getString());
  SQLite::Statement given(db, "SELECT vf FROM vfs ORDER BY vf");
  while (given.executeStep()) rows.given.push_back(given.getColumn(0).getString());
  return rows;
}

}  // namespace

std::optional<JournalRows> readJournalCopy(const fs::path& state_dir, const std::string& vm_uuid) {
  const Folder copy;
  try {
    for (const char* name : {"journal.db", "journal.db-wal"})
      fs::copy_file(state_dir / name, copy.path() / name);
    return rowsOf(SQLite::Database((copy.path() / "journal.db").string(), SQLite::OPEN_READWRITE), vm_uuid);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace rdmove::harness
