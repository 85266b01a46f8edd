// One evacuation as it runs: a real journal, and migrations and destinations that do what a test says.
#include "coordinator/evacuation/evacuation.hpp"

#include <gmock/gmock.h>

#include "coordinator/journal/tests/journal_fixture.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/session.hpp"

namespace rdmove::evacuation {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const PoolName kFabric("fabric");
const HostName kHostb("hostb");
const HostName kHostc("hostc");
const EvacuationId kId("evacuation-hosta-x");

/// Passes when the test says so.
class HandTimers : public Timers {
 public:
  std::unique_ptr<Timer> after(std::chrono::milliseconds, std::function<void()> passed) override {
    armed = std::move(passed);
    return std::make_unique<Timer>();
  }
  std::function<void()> armed;
};

class World : public Surroundings {
 public:
  explicit World(Journal& journal) : journal_(journal) {}

  Result<MigrationId> depart(const Plan& plan) override {
    departed.push_back(plan.domain + " to " + plan.destination.str());
    if (refuses) return tl::unexpected(*refuses);
    MigrationRecord record;
    record.id = MigrationId(plan.domain + "-" + std::to_string(departed.size()));
    record.uuid = plan.uuid;
    record.domain = plan.domain;
    record.partner = plan.destination;
    record.phase = "Preflight";
    record.plan = rdmove::toJson(plan);
    if (auto begun = journal_.begin(record); !begun) return tl::unexpected(begun.error());
    return record.id;
  }
  void askRooms(const std::vector<HostName>&, std::function<void(Rooms)> answer) override {
    asked.push_back(std::move(answer));
  }
  /// The destinations say what room they have, until nobody asks any more.
  void answer() {
    while (!asked.empty()) {
      const auto next = std::exchange(asked, {});
      for (const auto& each : next) each(rooms);
    }
  }

  Rooms rooms{{{kHostb, {{kFabric, 9}}, 1 << 30, 64, 0}}, {}};
  std::vector<std::function<void(Rooms)>> asked;
  std::vector<std::string> departed;
  std::optional<Error> refuses;

 private:
  Journal& journal_;
};

class EvacuationTest : public journal_tests::JournalTest {
 protected:
  void SetUp() override {
    JournalTest::SetUp();
    world = std::make_unique<World>(*journal);
    request.destinations = {kHostb, kHostc};
    for (const char* name : {"vm1", "vm2", "vm3"}) needs.push_back(need(name));
  }

  static Need need(const std::string& name) {
    return {DomainUuid("uuid-" + name), name, 1024, 1, {{kFabric, 1}}, {}};
  }
  static HostRoom room(const HostName& host, unsigned vfs) { return {host, {{kFabric, vfs}}, 1 << 30, 64, 0}; }

  std::vector<EvacuatedVm> planned() {
    std::vector<EvacuatedVm> rows;
    for (const Need& each : needs) {
      EvacuatedVm row;
      row.uuid = each.uuid;
      row.domain = each.domain;
      row.need = needToJson(each);
      row.destination = kHostb;
      rows.push_back(row);
    }
    return rows;
  }

  void begin() {
    EvacuationRecord record;
    record.id = kId;
    record.request = toJson(request);
    ASSERT_TRUE(journal->beginEvacuation(record, planned()));
    takeUp();
  }

  /// As after the daemon's start: all that is known is in the journal.
  void takeUp() {
    const auto record = journal->evacuations().value().at(0);
    std::vector<Member> members;
    const auto rows = journal->evacuated(kId).value();
    for (const EvacuatedVm& row : rows) {
      Need its = needFromJson(row.need).value();
      its.uuid = row.uuid;
      its.domain = row.domain;
      members.push_back({row, its, triesFromJson(row.tried).value()});
    }
    said.clear();
    evacuation = std::make_shared<Evacuation>(
        *journal, *world, timers, clock, record, requestFromJson(record.request).value(), members,
        [this](const Evacuation&, const std::string& words) { said.push_back(words); });
    evacuation->start();
    world->answer();
  }

  void restart() {
    evacuation.reset();
    reopen();
    world = std::make_unique<World>(*journal);
  }

  MigrationRecord recordOf(const std::string& id) {
    return *journal->find(MigrationId(id), Role::kDeparture).value();
  }
  /// The migration is journaled as ended, and then says so.
  void end(const std::string& id, Outcome outcome, const std::string& error = "") {
    ASSERT_TRUE(journal->finish(MigrationId(id), Role::kDeparture, outcome, error));
    tell(id);
  }
  void tell(const std::string& id) {
    evacuation->onUpdate({recordOf(id), {}, ""});
    world->answer();
  }
  void fact(const std::string& id, const std::string& name) {
    ASSERT_TRUE(journal->setFact(MigrationId(id), Role::kDeparture, name, "yes"));
  }
  EvacuatedVm row(const std::string& name) {
    const auto rows = journal->evacuated(kId).value();
    for (const EvacuatedVm& each : rows) {
      if (each.domain == name) return each;
    }
    return {};
  }
  EvacuationOutcome outcome() { return journal->evacuations().value().at(0).outcome; }

  std::unique_ptr<World> world;
  HandTimers timers;
  Request request;
  std::vector<Need> needs;
  std::shared_ptr<Evacuation> evacuation;
  std::vector<std::string> said;
};

TEST_F(EvacuationTest, moves_all_within_the_limit_and_says_that_it_is_over) {
  begin();
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb"));
  end("vm2-2", Outcome::kCompleted);
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb", "vm3 to hostb"));
  EXPECT_FALSE(evacuation->over());
  end("vm1-1", Outcome::kCompleted);
  end("vm3-3", Outcome::kCompleted);
  EXPECT_TRUE(evacuation->over());
  EXPECT_EQ(outcome(), EvacuationOutcome::kCompleted);
  EXPECT_EQ(row("vm3").state, EvacuatedState::kMoved);
  EXPECT_EQ(row("vm3").migration, MigrationId("vm3-3"));
  EXPECT_EQ(said.back(), "evacuation-hosta-x: 3 of 3 VMs have moved.");
}

TEST_F(EvacuationTest, goes_on_after_a_failure_and_says_who_stayed_and_why) {
  begin();
  end("vm1-1", Outcome::kRolledBack, "cannot prepare vm1: pid 7 holds rxe0");
  end("vm2-2", Outcome::kCompleted);
  end("vm3-3", Outcome::kCompleted);
  EXPECT_EQ(outcome(), EvacuationOutcome::kIncomplete);
  EXPECT_EQ(row("vm1").state, EvacuatedState::kStayed);
  EXPECT_EQ(row("vm1").reason, "cannot prepare vm1: pid 7 holds rxe0");
  EXPECT_THAT(said, Contains("vm1 stays: cannot prepare vm1: pid 7 holds rxe0"));
  EXPECT_EQ(said.back(), "evacuation-hosta-x: 2 of 3 VMs have moved, 1 stayed.");
  EXPECT_EQ(world->departed.size(), 3U) << "what failed for another reason than room is not tried again";
}

TEST_F(EvacuationTest, a_migration_that_is_refused_at_once_keeps_nobody_else) {
  world->refuses = Error{ErrorCode::kConflict, "", "another migration of it is not over", ""};
  begin();
  EXPECT_TRUE(evacuation->over());
  EXPECT_EQ(outcome(), EvacuationOutcome::kIncomplete);
  EXPECT_THAT(row("vm3").reason, HasSubstr("another migration of it is not over"));
}

TEST_F(EvacuationTest, goes_elsewhere_when_a_destination_filled_up_before_the_transfer) {
  world->rooms.rooms.push_back(room(kHostc, 9));
  begin();
  fact("vm1-1", blameFact(ErrorCode::kExhausted));
  end("vm1-1", Outcome::kRefused, "pool fabric of hostb has no free VF");
  EXPECT_THAT(world->departed, Contains("vm1 to hostc"));
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb", "vm1 to hostc"));
  const auto tried = triesFromJson(row("vm1").tried).value();
  ASSERT_EQ(tried.size(), 1U);
  EXPECT_EQ(tried[0].destination, kHostb);
  EXPECT_EQ(tried[0].migration, MigrationId("vm1-1"));
  end("vm1-3", Outcome::kCompleted);
  EXPECT_EQ(row("vm1").state, EvacuatedState::kMoved);
}

TEST_F(EvacuationTest, stays_when_every_destination_was_full) {
  begin();
  fact("vm1-1", blameFact(ErrorCode::kExhausted));
  end("vm1-1", Outcome::kRolledBack, "pool fabric of hostb has no free VF");
  EXPECT_EQ(row("vm1").state, EvacuatedState::kStayed);
  EXPECT_THAT(row("vm1").reason, HasSubstr("no destination is left"));
}

TEST_F(EvacuationTest, what_failed_in_its_transfer_is_not_tried_again_whatever_ran_out) {
  world->rooms.rooms.push_back(room(kHostc, 9));
  begin();
  fact("vm1-1", blameFact(ErrorCode::kExhausted));
  fact("vm1-1", "transfer-started");
  end("vm1-1", Outcome::kRolledBack, "no memory there");
  EXPECT_EQ(row("vm1").state, EvacuatedState::kStayed);
}

TEST_F(EvacuationTest, a_host_that_fills_up_half_way_is_left_before_a_vm_begins) {
  begin();
  world->rooms.rooms = {room(kHostb, 0), room(kHostc, 1)};
  end("vm1-1", Outcome::kCompleted);
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb", "vm3 to hostc"));
}

TEST_F(EvacuationTest, nothing_fits_any_more_and_each_host_says_why) {
  begin();
  world->rooms = {{room(kHostb, 0)}, {{kHostc, "cannot ask hostc what room it has: it does not answer"}}};
  end("vm1-1", Outcome::kCompleted);
  EXPECT_THAT(row("vm3").reason, HasSubstr("hostb: pool fabric has 0 VFs free, 1 needed"));
  EXPECT_THAT(row("vm3").reason, HasSubstr("hostc: cannot ask hostc"));
}

TEST_F(EvacuationTest, waits_for_the_room_that_those_under_way_may_need) {
  world->rooms.rooms = {room(kHostb, 1)};
  begin();
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb"));
  end("vm1-1", Outcome::kCompleted);
  EXPECT_EQ(world->departed.size(), 2U);
}

TEST_F(EvacuationTest, counts_no_vf_twice_once_it_is_leased) {
  begin();
  ASSERT_TRUE(journal->enter(MigrationId("vm2-2"), Role::kDeparture, "Preparing"));
  tell("vm2-2");
  // What hostb still has is beside the one that is leased to vm2.
  world->rooms.rooms = {room(kHostb, 1)};
  end("vm1-1", Outcome::kCompleted);
  EXPECT_THAT(world->departed, Contains("vm3 to hostb"));
}

TEST_F(EvacuationTest, peers_wait_for_one_another_unless_asked) {
  needs[0].peers = {needs[1].uuid};
  begin();
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm3 to hostb"));
  end("vm1-1", Outcome::kCompleted);
  EXPECT_THAT(world->departed, Contains("vm2 to hostb"));
}

TEST_F(EvacuationTest, peers_go_together_when_asked) {
  needs[0].peers = {needs[1].uuid};
  request.limits.peers_together = true;
  begin();
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb"));
}

TEST_F(EvacuationTest, does_not_wait_for_a_degraded_migration_and_takes_its_end_when_it_comes) {
  request.limits.max_parallel = 1;
  begin();
  ASSERT_TRUE(journal->finish(MigrationId("vm1-1"), Role::kDeparture, Outcome::kDegraded, "pid 7 holds rxe0"));
  tell("vm1-1");
  EXPECT_EQ(row("vm1").state, EvacuatedState::kDegraded);
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb"));
  end("vm1-1", Outcome::kCompleted);
  EXPECT_EQ(row("vm1").state, EvacuatedState::kMoved);
}

TEST_F(EvacuationTest, is_degraded_when_it_ends_before_a_repair) {
  begin();
  ASSERT_TRUE(journal->finish(MigrationId("vm1-1"), Role::kDeparture, Outcome::kDegraded, "pid 7 holds rxe0"));
  tell("vm1-1");
  end("vm2-2", Outcome::kCompleted);
  end("vm3-3", Outcome::kCompleted);
  EXPECT_EQ(outcome(), EvacuationOutcome::kDegraded);
  EXPECT_EQ(said.back(), "evacuation-hosta-x: 2 of 3 VMs have moved, 1 degraded.");
}

TEST_F(EvacuationTest, cancelled_begins_no_more_and_waits_for_those_under_way) {
  begin();
  EXPECT_TRUE(evacuation->cancel().value());
  EXPECT_FALSE(evacuation->cancel().value()) << "twice";
  EXPECT_EQ(row("vm3").reason, "the evacuation was cancelled");
  EXPECT_FALSE(evacuation->over());
  end("vm1-1", Outcome::kCompleted);
  end("vm2-2", Outcome::kCompleted);
  EXPECT_EQ(outcome(), EvacuationOutcome::kCancelled);
  EXPECT_EQ(world->departed.size(), 2U);
}

TEST_F(EvacuationTest, cancelled_while_the_destinations_are_asked_begins_nothing) {
  EvacuationRecord record;
  record.id = kId;
  record.request = toJson(request);
  ASSERT_TRUE(journal->beginEvacuation(record, planned()));
  std::vector<Member> members;
  for (const EvacuatedVm& each : planned()) members.push_back({each, need(each.domain)});
  evacuation = std::make_shared<Evacuation>(*journal, *world, timers, clock, record, request, members,
                                            [](const Evacuation&, const std::string&) {});
  evacuation->start();
  ASSERT_EQ(world->asked.size(), 1U);
  ASSERT_TRUE(evacuation->cancel().value());
  world->answer();
  EXPECT_THAT(world->departed, IsEmpty());
  EXPECT_EQ(outcome(), EvacuationOutcome::kCancelled);
}

TEST_F(EvacuationTest, goes_on_after_a_restart) {
  begin();
  restart();
  ASSERT_TRUE(journal->finish(MigrationId("vm1-1"), Role::kDeparture, Outcome::kCompleted, ""));
  takeUp();
  EXPECT_EQ(row("vm1").state, EvacuatedState::kMoved) << "it ended while nobody looked";
  EXPECT_THAT(world->departed, ElementsAre("vm3 to hostb"));
  end("vm2-2", Outcome::kCompleted);
  EXPECT_EQ(row("vm2").state, EvacuatedState::kMoved);
}

TEST_F(EvacuationTest, a_migration_that_the_restart_interrupted_gets_another_turn) {
  begin();
  fact("vm1-1", blameFact(ErrorCode::kCancelled));
  end("vm1-1", Outcome::kRolledBack, "the daemon was restarted in Preparing");
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb", "vm1 to hostb"));
}

// Its reservation from before the restart holds the VF that it needs, until that ends by itself.
TEST_F(EvacuationTest, an_interrupted_migration_waits_for_its_own_reservation_to_end) {
  request.limits.max_parallel = 1;
  begin();
  fact("vm1-1", blameFact(ErrorCode::kCancelled));
  world->rooms.rooms = {room(kHostb, 0)};
  end("vm1-1", Outcome::kRefused, "the daemon was restarted in Reserving");
  EXPECT_EQ(row("vm1").state, EvacuatedState::kWaiting);
  ASSERT_TRUE(timers.armed);
  world->rooms.rooms = {room(kHostb, 1)};
  timers.armed();
  world->answer();
  EXPECT_EQ(row("vm1").state, EvacuatedState::kMoving);
}

TEST_F(EvacuationTest, an_interrupted_migration_does_not_wait_for_ever) {
  request.limits.max_parallel = 1;
  begin();
  fact("vm1-1", blameFact(ErrorCode::kCancelled));
  world->rooms.rooms = {room(kHostb, 0)};
  end("vm1-1", Outcome::kRefused, "the daemon was restarted in Reserving");
  clock.moment.wall += std::chrono::seconds(200);
  timers.armed();
  world->answer();
  EXPECT_EQ(row("vm1").state, EvacuatedState::kStayed);
  EXPECT_TRUE(evacuation->over());
}

TEST_F(EvacuationTest, a_migration_that_the_operator_cancelled_gets_none) {
  begin();
  fact("vm1-1", blameFact(ErrorCode::kCancelled));
  fact("vm1-1", "cancelled");
  end("vm1-1", Outcome::kRolledBack);
  EXPECT_EQ(row("vm1").reason, "its migration was cancelled");
}

TEST_F(EvacuationTest, killed_before_the_migration_began_begins_it) {
  begin();
  EvacuatedVm vm3 = row("vm3");
  vm3.state = EvacuatedState::kMoving;
  vm3.began_us = 1;
  ASSERT_TRUE(journal->keepEvacuated(kId, vm3));
  restart();
  takeUp();
  EXPECT_EQ(row("vm3").state, EvacuatedState::kWaiting) << "vm1 and vm2 are under way";
  end("vm1-1", Outcome::kCompleted);
  EXPECT_THAT(world->departed, ElementsAre("vm3 to hostb"));
}

TEST_F(EvacuationTest, killed_before_the_migration_was_written_into_the_row_finds_it) {
  begin();
  EvacuatedVm vm1 = row("vm1");
  vm1.migration = MigrationId();
  ASSERT_TRUE(journal->keepEvacuated(kId, vm1));
  restart();
  takeUp();
  EXPECT_EQ(row("vm1").migration, MigrationId("vm1-1"));
  EXPECT_THAT(world->departed, IsEmpty());
}

TEST_F(EvacuationTest, cancelled_stays_cancelled_over_a_restart) {
  begin();
  ASSERT_TRUE(evacuation->cancel().value());
  restart();
  takeUp();
  end("vm1-1", Outcome::kCompleted);
  end("vm2-2", Outcome::kCompleted);
  EXPECT_THAT(world->departed, IsEmpty());
  EXPECT_EQ(outcome(), EvacuationOutcome::kCancelled);
}

TEST_F(EvacuationTest, another_vms_migration_is_none_of_its_affairs) {
  begin();
  MigrationRecord other = recordOf("vm1-1");
  other.id = MigrationId("vm9-9");
  other.outcome = Outcome::kCompleted;
  evacuation->onUpdate({other, {}, ""});
  EXPECT_TRUE(world->asked.empty());
  EXPECT_EQ(row("vm1").state, EvacuatedState::kMoving);
}

}  // namespace
}  // namespace rdmove::evacuation
