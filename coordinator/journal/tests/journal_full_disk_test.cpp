// A real full disk: a small tmpfs in a mount namespace of the test's own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "coordinator/journal/reserve.hpp"
#include "journal_fixture.hpp"

namespace rdmove::journal_tests {
namespace {

class FullDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      GTEST_SKIP() << "no mount namespace here: " << std::strerror(errno);
    }
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "no tmpfs can be mounted here: " << std::strerror(errno);
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) umount2(directory.path().c_str(), MNT_DETACH);
  }
  void fill() {
    const int fd = open((directory.path() / "full").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string page(4096, 'f');
    while (write(fd, page.data(), page.size()) == static_cast<ssize_t>(page.size())) {
    }
    EXPECT_EQ(errno, ENOSPC);
    close(fd);
  }
  void open_journal() {
    journal.reset();
    auto opened = openJournal(file, clock);
    ASSERT_TRUE(opened) << opened.error().sentence();
    journal = std::move(*opened);
  }
  /// What a long migration writes: 200 steps, its plan anew, facts, leases, the partner's steps, its end.
  void wholeMigration(const MigrationId& id, Role role, bool reopen) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(journal->enter(id, role, "Phase" + std::to_string(i))) << i;
      const auto marked = journal->mark(id, role, "Phase", StepMark::kDone, std::string(300, 'd'));
      ASSERT_TRUE(marked) << i << ' ' << marked.error().sentence();
      if (reopen && i % 20 == 0) open_journal();
    }
    EXPECT_OK(journal->setPlan(id, role, std::string(16000, 'p')));
    EXPECT_OK(journal->setFact(id, role, "leases", std::string(16000, 'l')));
    EXPECT_OK(journal->lease({leaseOf(id.str(), "br0#0"), leaseOf(id.str(), "br0#1", "ua-rdma1")}));
    EXPECT_OK(journal->renewLeases(id, 77));
    EXPECT_OK(journal->makePermanent(id));
    std::vector<StepRecord> told(100);
    for (auto& step : told)
      step = {id, role, "hostb arrival", "Plugging", StepMark::kDone, std::string(200, 't'), 1, 1};
    for (int i = 0; i < 5; ++i) EXPECT_OK(journal->keepPartnerSteps(id, role, told));
    EXPECT_OK(journal->finish(id, role, Outcome::kCompleted, std::string(500, 'e')));
  }

  TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "journal.db";
  FakeClock clock;
  std::unique_ptr<Journal> journal;
  bool mounted_ = false;
};

TEST_F(FullDiskTest, a_migration_that_began_is_journaled_to_its_end) {
  open_journal();
  EXPECT_OK(journal->begin(record("m1")));
  fill();
  wholeMigration(MigrationId("m1"), Role::kDeparture, false);
  EXPECT_EQ(journal->steps(MigrationId("m1"), Role::kDeparture).value().size(), 500U);
}

TEST_F(FullDiskTest, and_over_restarts_of_the_daemon) {
  open_journal();
  EXPECT_OK(journal->begin(record("m1")));
  fill();
  wholeMigration(MigrationId("m1"), Role::kDeparture, true);
}

TEST_F(FullDiskTest, two_at_once_do_not_eat_each_others_room) {
  open_journal();
  EXPECT_OK(journal->begin(record("m1")));
  EXPECT_OK(journal->enter(MigrationId("m1"), Role::kDeparture, "Unplugging"));
  EXPECT_OK(journal->begin(record("m2", Role::kArrival, "uuid-2")));
  fill();
  wholeMigration(MigrationId("m1"), Role::kDeparture, false);
  wholeMigration(MigrationId("m2"), Role::kArrival, false);
}

TEST_F(FullDiskTest, a_new_one_is_refused_and_leaves_nothing) {
  open_journal();
  fill();
  const auto refused = journal->begin(record("m1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted) << refused.error().sentence();
  EXPECT_THAT(refused.error().sentence(), testing::HasSubstr("full"));
  EXPECT_TRUE(journal->list(10).value().empty());
  open_journal();
  EXPECT_TRUE(journal->list(10).value().empty());
  std::filesystem::remove(directory.path() / "full");
  EXPECT_OK(journal->begin(record("m1")));
}

TEST_F(FullDiskTest, the_log_stays_within_what_the_reserve_allocated) {
  open_journal();
  EXPECT_OK(journal->begin(record("m1")));
  const auto log = std::filesystem::file_size(file.string() + "-wal");
  const auto database = std::filesystem::file_size(file);
  EXPECT_GE(log,
            static_cast<std::uintmax_t>(journal::kReserveChunks * journal::kChunkPages * journal::kPageSize));
  wholeMigration(MigrationId("m1"), Role::kDeparture, false);
  EXPECT_EQ(std::filesystem::file_size(file.string() + "-wal"), log);
  EXPECT_EQ(std::filesystem::file_size(file), database);
}

}  // namespace
}  // namespace rdmove::journal_tests
