#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "journal_fixture.hpp"

namespace rdmove::journal_tests {
namespace {

using testing::HasSubstr;

const MigrationId kM1("m1");

TEST_F(JournalTest, keeps_every_step_over_a_reopen_after_each) {
  EXPECT_OK(journal->begin(record("m1")));
  const std::vector<std::function<Result<void>()>> story = {
      [&] { return journal->enter(kM1, Role::kDeparture, "Reserving"); },
      [&] { return journal->mark(kM1, Role::kDeparture, "Reserving", StepMark::kDone, "br0#3"); },
      [&] { return journal->setFact(kM1, Role::kDeparture, "released", "no"); },
      [&] { return journal->setFact(kM1, Role::kDeparture, "released", "yes"); },
      [&] { return journal->setPlan(kM1, Role::kDeparture, "{}"); },
      [&] { return journal->enter(kM1, Role::kDeparture, "Transferring"); },
      [&] { return journal->finish(kM1, Role::kDeparture, Outcome::kDegraded, "the partner is silent"); },
  };
  for (const auto& step : story) {
    EXPECT_OK(step());
    reopen();
  }
  const auto found = journal->find(kM1, Role::kDeparture).value().value();
  EXPECT_EQ(found.phase, "Transferring");
  EXPECT_EQ(found.outcome, Outcome::kDegraded);
  EXPECT_EQ(found.error, "the partner is silent");
  EXPECT_EQ(found.plan, "{}");
  EXPECT_EQ(found.created_us, 1'700'000'000'000'000);
  const auto steps = journal->steps(kM1, Role::kDeparture).value();
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].source, "hosta departure");
  EXPECT_EQ(steps[1].detail, "br0#3");
  EXPECT_EQ(steps[1].boot_ns, 7'000'000'000);
  EXPECT_EQ(steps[2].step, "Transferring");
  const auto facts = journal->facts(kM1, Role::kDeparture).value();
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].value, "yes");
  ASSERT_EQ(journal->unfinished().value().size(), 1U);
}

TEST_F(JournalTest, what_returned_success_survives_a_process_that_dies) {
  journal.reset();
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      auto opened = openJournal(file, clock);
      if (!opened) _exit(1);
      const MigrationId id("m" + std::to_string(round));
      const bool ok = (*opened)->begin(record(id.str(), Role::kDeparture, "uuid-" + id.str())) &&
                      (*opened)->enter(id, Role::kDeparture, "Unplugging");
      _exit(ok ? 0 : 2);  // no destructor runs: the log is not copied back, nothing is closed
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  reopen();
  const auto unfinished = journal->unfinished().value();
  ASSERT_EQ(unfinished.size(), 5U);
  for (const auto& migration : unfinished) EXPECT_EQ(migration.phase, "Unplugging");
}

TEST_F(JournalTest, refuses_a_second_unfinished_migration_of_a_domain_and_names_the_first) {
  EXPECT_OK(journal->begin(record("m1")));
  const auto second = journal->begin(record("m2"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().sentence(), HasSubstr("m1"));
  EXPECT_CODE(journal->begin(record("m3", Role::kArrival)), ErrorCode::kConflict);
  EXPECT_OK(journal->begin(record("m4", Role::kDeparture, "uuid-2")));
  EXPECT_OK(journal->finish(kM1, Role::kDeparture, Outcome::kRolledBack, "cancelled"));
  EXPECT_OK(journal->begin(record("m2")));
  EXPECT_CODE(journal->begin(record("m2")), ErrorCode::kConflict);
}

TEST_F(JournalTest, a_departure_supersedes_the_degraded_arrival_of_its_domain) {
  EXPECT_OK(journal->begin(record("m1", Role::kArrival)));
  EXPECT_OK(journal->lease({leaseOf("m1", "br0#0")}));
  EXPECT_CODE(journal->begin(record("m2")), ErrorCode::kConflict);
  EXPECT_OK(journal->finish(kM1, Role::kArrival, Outcome::kDegraded, "no VF"));
  EXPECT_CODE(journal->begin(record("m3", Role::kArrival)), ErrorCode::kConflict);
  EXPECT_OK(journal->begin(record("m2")));
  EXPECT_EQ(journal->find(kM1, Role::kArrival).value()->outcome, Outcome::kSuperseded);
  EXPECT_TRUE(journal->leases().value().empty());
}

TEST_F(JournalTest, facts_that_a_migration_begins_with_are_there_exactly_when_it_is) {
  EXPECT_OK(journal->begin(record("m1"), {{"moves-on", "m0"}, {"source-vf:ua-rdma0", "br0#3"}}));
  EXPECT_CODE(journal->begin(record("m2"), {{"moves-on", "m0"}}), ErrorCode::kConflict);
  reopen();
  const auto facts = journal->facts(kM1, Role::kDeparture).value();
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].name, "moves-on");
  EXPECT_EQ(facts[1].value, "br0#3");
  EXPECT_TRUE(journal->facts(MigrationId("m2"), Role::kDeparture).value().empty());
}

TEST_F(JournalTest, an_end_is_told_once_and_frees_the_leases) {
  EXPECT_OK(journal->begin(record("m1", Role::kArrival)));
  EXPECT_OK(journal->lease({leaseOf("m1", "br0#0")}));
  EXPECT_OK(journal->finish(kM1, Role::kArrival, Outcome::kCompleted, ""));
  EXPECT_OK(journal->finish(kM1, Role::kArrival, Outcome::kCompleted, ""));
  EXPECT_CODE(journal->finish(kM1, Role::kArrival, Outcome::kWithdrawn, ""), ErrorCode::kConflict);
  EXPECT_CODE(journal->finish(kM1, Role::kArrival, Outcome::kRunning, ""), ErrorCode::kBadInput);
  EXPECT_CODE(journal->enter(kM1, Role::kArrival, "Plugging"), ErrorCode::kConflict);
  EXPECT_OK(journal->mark(kM1, Role::kArrival, "Verify", StepMark::kNote, "late word"));
  EXPECT_TRUE(journal->leases().value().empty());
  EXPECT_TRUE(journal->unfinished().value().empty());
}

TEST_F(JournalTest, what_is_unknown_is_not_found) {
  EXPECT_CODE(journal->enter(kM1, Role::kDeparture, "x"), ErrorCode::kNotFound);
  EXPECT_CODE(journal->mark(kM1, Role::kDeparture, "x", StepMark::kNote, ""), ErrorCode::kNotFound);
  EXPECT_CODE(journal->setPlan(kM1, Role::kDeparture, "{}"), ErrorCode::kNotFound);
  EXPECT_CODE(journal->setFact(kM1, Role::kDeparture, "a", "b"), ErrorCode::kNotFound);
  EXPECT_CODE(journal->finish(kM1, Role::kDeparture, Outcome::kCompleted, ""), ErrorCode::kNotFound);
  EXPECT_CODE(journal->keepPartnerSteps(kM1, Role::kDeparture, {}), ErrorCode::kNotFound);
  EXPECT_FALSE(journal->find(kM1, Role::kDeparture).value().has_value());
}

TEST_F(JournalTest, leases_are_all_or_nothing_and_one_a_vf) {
  EXPECT_OK(journal->lease({leaseOf("m1", "br0#0"), leaseOf("m1", "br0#1", "ua-rdma1")}));
  EXPECT_CODE(journal->lease({leaseOf("m2", "br0#2"), leaseOf("m2", "br0#1", "ua-rdma1")}),
              ErrorCode::kExhausted);
  EXPECT_CODE(journal->lease({leaseOf("m3", "br0#3"), leaseOf("m3", "br0#3", "ua-rdma1")}),
              ErrorCode::kExhausted);
  EXPECT_EQ(journal->leases().value().size(), 2U);
  EXPECT_OK(journal->lease({leaseOf("m1", "br0#0")}));
  EXPECT_EQ(journal->leases().value().front().boot_id, "boot-1");
  EXPECT_OK(journal->freeLeases(kM1));
  EXPECT_OK(journal->freeLeases(kM1));
  EXPECT_TRUE(journal->leases().value().empty());
}

TEST_F(JournalTest, leases_are_renewed_until_they_are_permanent) {
  EXPECT_CODE(journal->renewLeases(kM1, 5), ErrorCode::kNotFound);
  EXPECT_CODE(journal->makePermanent(kM1), ErrorCode::kNotFound);
  EXPECT_OK(journal->lease({leaseOf("m1", "br0#0")}));
  clock.boot = "boot-2";
  EXPECT_OK(journal->renewLeases(kM1, 5000));
  reopen();
  EXPECT_EQ(journal->leases().value().front().expires_boot_ns, 5000);
  EXPECT_EQ(journal->leases().value().front().boot_id, "boot-2");
  EXPECT_OK(journal->makePermanent(kM1));
  EXPECT_OK(journal->makePermanent(kM1));
  EXPECT_OK(journal->renewLeases(kM1, 9000));
  EXPECT_OK(journal->lease({leaseOf("m1", "br0#0")}));
  EXPECT_TRUE(journal->leases().value().front().permanent);
}

TEST_F(JournalTest, what_a_vf_was_before_outlives_its_migration) {
  EXPECT_OK(journal->begin(record("m1", Role::kArrival)));
  EXPECT_OK(journal->keepVf(kM1, {VfName("0000:3b:00.2"), "{\"mac\":\"a\"}", "{}"}));
  EXPECT_OK(journal->keepVf(kM1, {VfName("0000:3b:00.2"), "{\"mac\":\"b\"}", "{\"vlan\":1}"}));
  EXPECT_OK(journal->keepVf(kM1, {VfName("0000:3b:00.1"), "{}", "{}"}));
  EXPECT_OK(journal->finish(kM1, Role::kArrival, Outcome::kCompleted, ""));
  reopen();
  const auto records = journal->vfRecords().value();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].vf, VfName("0000:3b:00.1"));
  EXPECT_EQ(records[1].before, "{\"mac\":\"b\"}") << "the later word replaces the earlier one";
  EXPECT_EQ(records[1].given, "{\"vlan\":1}");
  EXPECT_OK(journal->forgetVf(VfName("0000:3b:00.2")));
  EXPECT_OK(journal->forgetVf(VfName("0000:3b:00.2")));
  EXPECT_EQ(journal->vfRecords().value().size(), 1U);
}

TEST_F(JournalTest, the_partners_steps_replace_what_it_told_before) {
  EXPECT_OK(journal->begin(record("m1")));
  EXPECT_OK(journal->enter(kM1, Role::kDeparture, "Reserving"));
  StepRecord told;
  told.source = "hostb arrival";
  told.step = "Reserved";
  EXPECT_OK(journal->keepPartnerSteps(kM1, Role::kDeparture, {told}));
  StepRecord next = told;
  next.step = "Plugging";
  StepRecord pretender = told;
  pretender.source = "hosta departure";
  EXPECT_OK(journal->keepPartnerSteps(kM1, Role::kDeparture, {told, next, pretender}));
  const auto steps = journal->steps(kM1, Role::kDeparture).value();
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].step, "Reserving") << "ours stays ours, whatever source the partner claims";
  EXPECT_EQ(steps[2].step, "Plugging");
  EXPECT_CODE(journal->keepPartnerSteps(kM1, Role::kDeparture, std::vector<StepRecord>(1001, told)),
              ErrorCode::kBadInput);
}

TEST_F(JournalTest, long_texts_are_cut_at_a_character) {
  EXPECT_OK(journal->begin(record("m1")));
  std::string umlauts = "x";
  for (int i = 0; i < 4000; ++i) umlauts += "\xc3\xa4";
  EXPECT_OK(journal->mark(kM1, Role::kDeparture, "s", StepMark::kFailed, umlauts));
  EXPECT_EQ(journal->steps(kM1, Role::kDeparture).value().front().detail, umlauts.substr(0, 4095));
}

TEST_F(JournalTest, list_is_newest_first_and_old_ends_are_forgotten) {
  journal.reset();
  {
    SQLite::Database db(file.string(), SQLite::OPEN_READWRITE);
    db.exec(
        "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 1003) "
        "INSERT INTO migrations SELECT 'm' || i, 1, 'u' || i, 'vm', 'hostb', '', iif(i = 0, 0, 1), '', '', "
        "i, i FROM n");
  }
  reopen();
  EXPECT_OK(journal->begin(record("new")));
  EXPECT_EQ(journal->list(5000).value().size(), 1002U) << "1000 finished ones and the two that run";
  EXPECT_EQ(journal->list(2).value().front().id, MigrationId("new"));
  EXPECT_TRUE(journal->find(MigrationId("m0"), Role::kDeparture).value().has_value());
  EXPECT_FALSE(journal->find(MigrationId("m3"), Role::kDeparture).value().has_value());
  EXPECT_TRUE(journal->find(MigrationId("m4"), Role::kDeparture).value().has_value());
}

}  // namespace
}  // namespace rdmove::journal_tests
