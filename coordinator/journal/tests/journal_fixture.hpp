// A journal in a directory of its own, a clock that the test sets, and records to fill it with.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/journal/sqlite_journal.hpp"

namespace rdmove::journal_tests {

class FakeClock : public Clock {
 public:
  Moment now() const override { return moment; }
  std::string bootId() const override { return boot; }
  Moment moment{std::chrono::seconds(7),
                std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000))};
  std::string boot = "boot-1";
};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-journal-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline MigrationRecord record(const std::string& id, Role role = Role::kDeparture,
                              const std::string& uuid = "uuid-1") {
  MigrationRecord made;
  made.id = MigrationId(id);
  made.role = role;
  made.uuid = DomainUuid(uuid);
  made.domain = "vm1";
  made.partner = HostName("hostb");
  made.phase = "Preflight";
  made.plan = R"({"version":1})";
  return made;
}

inline LeaseRecord leaseOf(const std::string& id, const std::string& vf,
                           const std::string& alias = "ua-rdma0") {
  return {MigrationId(id),
          DomainUuid("uuid-1"),
          DeviceAlias(alias),
          PoolName("fabric"),
          VfName(vf),
          false,
          1000,
          ""};
}

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen() {
    journal.reset();
    auto opened = openJournal(file, clock, HostName("hosta"));
    ASSERT_TRUE(opened) << opened.error().sentence();
    journal = std::move(*opened);
  }

  TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "journal.db";
  FakeClock clock;
  std::unique_ptr<Journal> journal;
};

#define EXPECT_OK(call)                                     \
  do {                                                      \
    const auto ok_result = (call);                          \
    EXPECT_TRUE(ok_result) << ok_result.error().sentence(); \
  } while (false)

template <class T>
std::optional<ErrorCode> codeOf(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}
#define EXPECT_CODE(call, expected) EXPECT_EQ(codeOf(call), expected)

}  // namespace rdmove::journal_tests
