// One evacuation over restarts of its daemon: whatever the last write was, it goes on from there.
#include <gmock/gmock.h>

#include "coordinator/evacuation/tests/evacuation_fixture.hpp"

namespace rdmove::evacuation {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace rdmove::evacuation
