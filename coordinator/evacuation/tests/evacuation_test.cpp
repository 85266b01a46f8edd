// One evacuation as it runs: its limits, failures, destinations that fill up, a cancel.
#include <gmock/gmock.h>

#include "coordinator/evacuation/tests/evacuation_fixture.hpp"

namespace rdmove::evacuation {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
  ASSERT_TRUE(
      journal->finish(MigrationId("vm1-1"), Role::kDeparture, Outcome::kDegraded, "pid 7 holds rxe0"));
  tell("vm1-1");
  EXPECT_EQ(row("vm1").state, EvacuatedState::kDegraded);
  EXPECT_THAT(world->departed, ElementsAre("vm1 to hostb", "vm2 to hostb"));
  end("vm1-1", Outcome::kCompleted);
  EXPECT_EQ(row("vm1").state, EvacuatedState::kMoved);
}

TEST_F(EvacuationTest, is_degraded_when_it_ends_before_a_repair) {
  begin();
  ASSERT_TRUE(
      journal->finish(MigrationId("vm1-1"), Role::kDeparture, Outcome::kDegraded, "pid 7 holds rxe0"));
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
