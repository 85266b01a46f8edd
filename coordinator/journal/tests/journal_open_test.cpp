// What openJournal refuses, what it upgrades, and that a refusal leaves the file as it was.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "coordinator/journal/schema.hpp"
#include "journal_fixture.hpp"

namespace rdmove::journal_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JournalOpenTest : public testing::Test {
 protected:
  Error refusal() {
    auto opened = openJournal(file, clock);
    if (opened) return Error{ErrorCode::kInternal, "", "it opened", ""};
    EXPECT_FALSE(opened.error().remedy.empty());
    return opened.error();
  }
  std::string bytes() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void sql(const std::string& text) {
    SQLite::Database db(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(text);
  }
  void make() { ASSERT_TRUE(openJournal(file, clock)); }

  TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "journal.db";
  FakeClock clock;
};

TEST_F(JournalOpenTest, a_text_file_is_not_ours) {
  std::ofstream(file) << std::string(4096, 'x');
  const std::string before = bytes();
  EXPECT_EQ(refusal().code, ErrorCode::kRefused);
  EXPECT_EQ(bytes(), before);
}

TEST_F(JournalOpenTest, an_empty_file_is_not_ours) {
  std::ofstream(file) << "";
  EXPECT_EQ(refusal().code, ErrorCode::kRefused);
}

TEST_F(JournalOpenTest, another_programs_database_is_not_ours) {
  sql("CREATE TABLE migrations (a); PRAGMA user_version = 1");
  const std::string before = bytes();
  EXPECT_THAT(refusal().sentence(), AllOf(HasSubstr("no journal of rdmove"), HasSubstr("daemon.state_dir")));
  EXPECT_EQ(bytes(), before);
}

TEST_F(JournalOpenTest, a_newer_schema_is_refused_untouched) {
  make();
  sql("PRAGMA user_version = 99");
  const std::string before = bytes();
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kIncompatible);
  EXPECT_THAT(error.sentence(), AllOf(HasSubstr("newer rdmove"), HasSubstr("99")));
  EXPECT_EQ(bytes(), before);
}

TEST_F(JournalOpenTest, a_damaged_file_is_refused_untouched) {
  make();
  std::fstream hurt(file, std::ios::in | std::ios::out | std::ios::binary);
  hurt.seekp(4096);
  hurt << std::string(3 * 4096, '\x5a');
  hurt.close();
  const std::string before = bytes();
  EXPECT_THAT(refusal().sentence(), HasSubstr("damaged"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(JournalOpenTest, a_file_cut_short_is_refused_untouched) {
  make();
  std::filesystem::resize_file(file, 5000);
  const std::string before = bytes();
  EXPECT_THAT(refusal().sentence(), HasSubstr("damaged"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(JournalOpenTest, a_missing_directory_is_named) {
  file = directory.path() / "nowhere" / "journal.db";
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.sentence(), HasSubstr("install -d -m 0700"));
  EXPECT_FALSE(std::filesystem::exists(file.parent_path()));
}

TEST_F(JournalOpenTest, a_directory_that_is_a_file_is_named) {
  file = directory.path() / "file" / "journal.db";
  std::ofstream(directory.path() / "file") << "x";
  EXPECT_EQ(refusal().code, ErrorCode::kBadInput);
}

TEST_F(JournalOpenTest, a_directory_without_write_permission_is_named) {
  std::filesystem::permissions(directory.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  // Permissions do not stop root, so the open runs as nobody.
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0) {
      std::filesystem::permissions(directory.path(), static_cast<std::filesystem::perms>(0555));
      if (setuid(65534) != 0) _exit(3);
    }
    auto opened = openJournal(file, clock);
    _exit(!opened && opened.error().code == ErrorCode::kUnavailable &&
                  opened.error().sentence().find("not writable") != std::string::npos
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::filesystem::permissions(directory.path(), static_cast<std::filesystem::perms>(0700));
}

TEST_F(JournalOpenTest, the_second_opener_is_told_the_firsts_pid) {
  auto first = openJournal(file, clock);
  ASSERT_TRUE(first);
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_THAT(error.sentence(), HasSubstr("pid " + std::to_string(getpid())));
  first->reset();
  EXPECT_TRUE(openJournal(file, clock));
}

TEST_F(JournalOpenTest, a_killed_holder_leaves_no_lock) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto opened = openJournal(file, clock);
    if (write(ready[1], opened ? "y" : "n", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_THAT(refusal().sentence(), HasSubstr("pid " + std::to_string(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(openJournal(file, clock));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(JournalOpenTest, a_database_that_another_program_locks_is_a_conflict) {
  make();
  SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
  other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  EXPECT_EQ(refusal().code, ErrorCode::kConflict);
}

TEST_F(JournalOpenTest, an_older_schema_is_upgraded_with_its_rows) {
  {
    SQLite::Database db(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA application_id = " + std::to_string(journal::kApplicationId));
    journal::applySchema(db, 0, 1);
    db.exec(
        "INSERT INTO migrations VALUES ('m1', 1, 'uuid-1', 'vm1', 'hostb', 'Transferring', 0, '{}', '', 5, "
        "6)");
    EXPECT_FALSE(db.tableExists("reserve"));
  }
  auto opened = openJournal(file, clock);
  ASSERT_TRUE(opened) << opened.error().sentence();
  EXPECT_EQ((*opened)->find(MigrationId("m1"), Role::kDeparture).value()->phase, "Transferring");
  EXPECT_OK((*opened)->enter(MigrationId("m1"), Role::kDeparture, "Verifying"));
  EXPECT_OK((*opened)->begin(record("m2", Role::kArrival, "uuid-2")));
  opened->reset();
  SQLite::Database db(file.string());
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt(), journal::kSchemaVersion);
  EXPECT_EQ(db.execAndGet("SELECT count(DISTINCT migration) FROM reserve").getInt(), 1);
}

TEST_F(JournalOpenTest, a_start_that_was_killed_while_it_created_the_file_is_healed) {
  std::ofstream(file.string() + ".new") << "half a database";
  EXPECT_TRUE(openJournal(file, clock));
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".new"));
}

TEST_F(JournalOpenTest, a_reserve_without_its_migration_is_dropped) {
  make();
  sql("INSERT INTO reserve VALUES ('gone', 1, 0, zeroblob(32736))");
  make();
  SQLite::Database db(file.string());
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM reserve").getInt(), 0);
}

}  // namespace
}  // namespace rdmove::journal_tests
