// Who does not let go of the device: processes, applications, and the kernel that deletes it.
#include "guestagent/agent/inventory.hpp"
#include "guestagent/agent/moves.hpp"
#include "guestagent/tests/moves_fixture.hpp"

namespace rdmove::agent::test {
namespace {

TEST_F(MovesTest, a_holder_whose_device_has_left_sysfs_is_named_and_an_application_is_not) {
  const RdmaSysfs sysfs(folder.path);
  const Inventory inventory(services, sysfs);
  applications.let_go[7] = true;
  processes.open = {{42, "holder", "rxe0"}, {7, "app", "rxe0"}};
  processes.channels = {{43, "orphan", ""}, {42, "holder", ""}, {7, "app", ""}};
  EXPECT_THAT(inventory.holdouts().holdouts,
              ElementsAre(protocol::Holdout{42, "holder", "rxe0"},
                          protocol::Holdout{43, "orphan", "a removed device"}));
}

TEST_F(MovesTest, names_a_holdout_at_the_deadline_and_changes_nothing) {
  applications.let_go[7] = true;
  processes.open = {{42, "ibv_rc_pingpong", "rxe0"}};
  prepare();
  timers.advance(milliseconds(1999));
  EXPECT_THAT(prepared, IsEmpty());
  timers.advance(milliseconds(1));
  ASSERT_EQ(prepared.size(), 1U);
  ASSERT_FALSE(prepared[0]);
  EXPECT_EQ(prepared[0].error().code, ErrorCode::Holdouts);
  EXPECT_EQ(HoldoutsResult::from_payload(prepared[0].error().data)->holdouts, processes.open);
  EXPECT_TRUE(rdma.has("rxe0"));
  EXPECT_THAT(rdma.log, IsEmpty()) << "an anchor that librdmacm has opened could not be deleted again";
  EXPECT_EQ(applications.told.back(), "resume");
  EXPECT_EQ(moves->prepared(), std::nullopt);
  EXPECT_FALSE(store.load());
  EXPECT_TRUE(timers.idle());
}

TEST_F(MovesTest, goes_on_when_the_holdout_ends_in_time) {
  processes.open = {{42, "ibv_rc_pingpong", "rxe0"}};
  prepare();
  timers.advance(milliseconds(700));
  processes.open.clear();
  timers.advance(milliseconds(200));
  rdma.finish_removal("rxe0");
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_TRUE(prepared[0]);
}

TEST_F(MovesTest, an_application_that_never_answers_is_a_holdout) {
  applications.let_go = {{7, false}, {8, true}};
  prepare();
  timers.advance(milliseconds(2000));
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_THAT(HoldoutsResult::from_payload(prepared[0].error().data)->holdouts,
              ElementsAre(protocol::Holdout{7, "app", "rxe0"}));
}

TEST_F(MovesTest, an_application_that_dies_is_not_waited_for) {
  applications.let_go = {{7, false}};
  prepare();
  applications.die(7);
  rdma.finish_removal("rxe0");
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_TRUE(prepared[0]);
}

// librdmacm closes its own context only once the device is gone from its list, that is during the deletion.
TEST_F(MovesTest, soft_roce_believes_an_application_and_lets_the_deletion_wait_for_its_context) {
  applications.let_go = {{7, true}};
  processes.open = {{7, "app", "rxe0"}};
  prepare();
  ASSERT_TRUE(rdma.removals.contains("rxe0")) << "not held up by it";
  EXPECT_THAT(prepared, IsEmpty());
  processes.open.clear();
  rdma.finish_removal("rxe0");
  EXPECT_TRUE(prepared.at(0));
}

TEST_F(MovesTest, soft_roce_names_an_application_whose_context_outlives_its_word) {
  applications.let_go = {{7, true}};
  processes.open = {{7, "app", "rxe0"}};
  prepare();
  timers.advance(milliseconds(2000));
  EXPECT_EQ(HoldoutsResult::from_payload(prepared.at(0).error().data)->holdouts, processes.open);
}

TEST_F(MovesTest, a_vf_keeps_its_rdma_device_and_believes_an_application) {
  applications.let_go = {{7, true}};
  processes.open = {{7, "app", "rxe0"}};
  prepare(m1, false, vf);
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_TRUE(prepared[0]);
  EXPECT_THAT(rdma.log, IsEmpty());
}

TEST_F(MovesTest, with_force_goes_on_and_says_who_holds) {
  processes.open = {{42, "pingpong", "rxe0"}};
  prepare(m1, true);
  timers.advance(milliseconds(2000));
  EXPECT_THAT(prepared, IsEmpty());
  timers.advance(milliseconds(500));
  ASSERT_EQ(prepared.size(), 1U);
  ASSERT_TRUE(prepared[0]);
  EXPECT_EQ(prepared[0]->holdouts, processes.open);
  rdma.finish_removal("rxe0");
  EXPECT_FALSE(rdma.has("rxe0")) << "prepared, so it is not made again before restore";
  EXPECT_EQ(moves->prepared(), m1);
}

// Found by the fuzzer: the deletion began a second time, and after its end it was in nobody's memory.
TEST_F(MovesTest, with_force_an_answer_after_the_deadline_changes_nothing) {
  applications.let_go = {{7, false}, {8, false}};
  prepare(m1, true);
  timers.advance(milliseconds(2000));
  ASSERT_THAT(rdma.log, ElementsAre("add rdmove_anchor", "remove rxe0"));
  applications.answer(7);
  applications.answer(8);
  EXPECT_THAT(rdma.log, ElementsAre("add rdmove_anchor", "remove rxe0"));
  rdma.finish_removal("rxe0");
  ASSERT_EQ(prepared.size(), 1U);
  ASSERT_TRUE(prepared[0]);
}

TEST_F(MovesTest, with_force_an_answer_after_the_end_changes_nothing) {
  applications.let_go[7] = false;
  prepare(m1, true);
  timers.advance(milliseconds(2000));
  rdma.finish_removal("rxe0");
  ASSERT_EQ(prepared.size(), 1U);
  applications.answer(7);
  EXPECT_EQ(prepared.size(), 1U);
  EXPECT_EQ(moves->prepared(), m1);
}

TEST_F(MovesTest, undoes_a_deletion_that_hung_when_the_kernel_has_finished_it) {
  processes.channels = {{42, "old", {}}};
  prepare();
  timers.advance(milliseconds(2000));
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_EQ(HoldoutsResult::from_payload(prepared[0].error().data)->holdouts.at(0).name, "old");
  EXPECT_EQ(moves->prepared(), std::nullopt);
  prepare();
  EXPECT_EQ(prepared.at(1).error().code, ErrorCode::Busy);
  rdma.finish_removal("rxe0");
  EXPECT_TRUE(rdma.has("rxe0"));
  EXPECT_EQ(applications.told.back(), "resume");
  prepare();
  rdma.finish_removal("rxe0");
  EXPECT_TRUE(prepared.at(2));
}

TEST_F(MovesTest, a_restore_waits_for_a_deletion_that_hung) {
  processes.channels = {{42, "old", {}}};
  prepare();
  timers.advance(milliseconds(2000));
  restore();
  EXPECT_THAT(restored, IsEmpty());
  timers.advance(milliseconds(100));
  rdma.finish_removal("rxe0");
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
}

TEST_F(MovesTest, a_deletion_that_the_kernel_refuses_is_undone_at_once) {
  prepare();
  rdma.finish_removal("rxe0", protocol::fail(ErrorCode::InternalError, "not permitted"));
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_FALSE(prepared[0]);
  EXPECT_TRUE(rdma.has("rxe0"));
  EXPECT_EQ(moves->prepared(), std::nullopt);
}

}  // namespace
}  // namespace rdmove::agent::test
