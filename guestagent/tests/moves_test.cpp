#include "guestagent/agent/moves.hpp"

#include "guestagent/agent/inventory.hpp"
#include "guestagent/tests/moves_fixture.hpp"

namespace rdmove::agent::test {
namespace {

TEST_F(MovesTest, a_move_and_its_return) {
  applications.let_go[7] = false;
  prepare();
  EXPECT_THAT(rdma.log, IsEmpty()) << "no anchor while it may still be called off";
  applications.answer(7);
  EXPECT_THAT(rdma.log, ::testing::Contains("add rdmove_anchor"));
  EXPECT_THAT(prepared, IsEmpty()) << "the link is still being deleted";
  rdma.finish_removal("rxe0");
  ASSERT_EQ(prepared.size(), 1U);
  ASSERT_TRUE(prepared[0]) << prepared[0].error().message;
  EXPECT_EQ(prepared[0]->applications, 1U);
  EXPECT_THAT(prepared[0]->devices[0].addresses, ElementsAre("10.0.0.5/24"));
  EXPECT_EQ(moves->prepared(), m1);
  EXPECT_TRUE(rdma.removals.contains("rdmove_anchor")) << "its deletion ends when applications look again";
  EXPECT_TRUE(timers.idle());

  network.unplug();
  restore();
  EXPECT_THAT(restored, IsEmpty());
  network.plug(3, "eth1");
  moves->links_changed();
  ASSERT_EQ(restored.size(), 1U);
  ASSERT_TRUE(restored[0]) << restored[0].error().message;
  EXPECT_EQ(restored[0]->devices[0].netdev, "eth0");
  EXPECT_EQ(restored[0]->devices[0].rdma, "rxe0");
  EXPECT_EQ(restored[0]->devices[0].gids[0].gid, "0000:0000:0000:0000:0000:ffff:0a00:0005");
  EXPECT_EQ(network.put_back, network.state);
  EXPECT_THAT(announcer.announced, ElementsAre("10.0.0.5/24"));
  EXPECT_THAT(applications.told, ElementsAre("quiesce", "removed", "ready"));
  EXPECT_EQ(ready.size(), 1U);
  EXPECT_EQ(moves->prepared(), std::nullopt);
  EXPECT_FALSE(store.load());
  EXPECT_TRUE(timers.idle());
}

TEST_F(MovesTest, whoever_cannot_be_asked_is_waited_for_before_applications_stand_still) {
  applications.let_go[7] = true;
  processes.open = {{42, "ibv_rc_pingpong", "rxe0"}, {7, "app", "rxe0"}};
  prepare();
  timers.advance(milliseconds(600));
  EXPECT_THAT(applications.told, IsEmpty());
  processes.open.erase(processes.open.begin());
  timers.advance(milliseconds(100));
  EXPECT_THAT(applications.told, ElementsAre("quiesce"));
  EXPECT_TRUE(rdma.removals.contains("rxe0"));
}

TEST_F(MovesTest, applications_have_half_of_the_time_whoever_else_holds_the_device) {
  applications.let_go[7] = false;
  processes.open = {{42, "ibv_rc_pingpong", "rxe0"}};
  prepare();
  timers.advance(milliseconds(999));
  EXPECT_THAT(applications.told, IsEmpty());
  timers.advance(milliseconds(101));
  EXPECT_THAT(applications.told, ElementsAre("quiesce"));
}

TEST_F(MovesTest, with_force_asks_applications_at_once) {
  applications.let_go[7] = false;
  processes.open = {{42, "ibv_rc_pingpong", "rxe0"}};
  prepare(m1, true);
  EXPECT_THAT(applications.told, ElementsAre("quiesce"));
}

TEST_F(MovesTest, captures_before_applications_stand_still_and_again_when_they_took_long) {
  applications.let_go[7] = false;
  prepare();
  EXPECT_EQ(network.captures, 1);
  EXPECT_TRUE(store.load());
  timers.advance(milliseconds(100));
  applications.answer(7);
  EXPECT_EQ(network.captures, 1);
  rdma.finish_removal("rxe0");
  restore();

  applications.let_go[7] = false;
  prepare(m2);
  network.state.mtu = 1400;
  timers.advance(milliseconds(101));
  applications.answer(7);
  EXPECT_EQ(network.captures, 3);
  EXPECT_EQ(store.load()->devices.at(0).link.mtu, 1400U);
}

TEST_F(MovesTest, the_host_has_its_answer_before_applications_and_anchor_hear_of_it) {
  applications.let_go[7] = true;
  bool answered = false;
  moves->prepare({m1, milliseconds(2000), false, {soft}}, [&](const auto&) {
    answered = true;
    EXPECT_THAT(applications.told, ElementsAre("quiesce"));
    EXPECT_FALSE(rdma.removals.contains("rdmove_anchor"));
  });
  rdma.finish_removal("rxe0");
  EXPECT_TRUE(answered);
  EXPECT_THAT(applications.told, ElementsAre("quiesce", "removed"));
}

TEST_F(MovesTest, applications_are_ready_before_the_host_hears_of_it_and_the_file_goes_last) {
  prepare_fully();
  replug();
  bool answered = false;
  moves->restore({m1, milliseconds(1000), {soft}}, [&](const auto&) {
    answered = true;
    EXPECT_EQ(applications.told.back(), "ready");
    EXPECT_TRUE(store.load());
  });
  EXPECT_TRUE(answered);
  EXPECT_FALSE(store.load());
}

TEST_F(MovesTest, announces_once_and_as_soon_as_there_is_a_carrier) {
  prepare_fully();
  replug();
  network.link->carrier = false;
  rdma.refuses_to_add = "not yet";
  restore();
  EXPECT_THAT(announcer.announced, IsEmpty());
  network.link->carrier = true;
  moves->links_changed();
  EXPECT_THAT(announcer.announced, ElementsAre("10.0.0.5/24")) << "the RDMA device is not waited for";
  EXPECT_THAT(restored, IsEmpty());
  rdma.refuses_to_add.clear();
  timers.advance(milliseconds(10));
  EXPECT_TRUE(restored.at(0));
  EXPECT_THAT(announcer.announced, ElementsAre("10.0.0.5/24"));
}

TEST_F(MovesTest, prepare_says_what_was_counted_before_anybody_let_go) {
  applications.let_go[7] = false;
  prepare();
  rdma.packets = 9;  // of letting go itself
  applications.answer(7);
  rdma.finish_removal("rxe0");
  ASSERT_TRUE(prepared.at(0));
  ASSERT_EQ(prepared[0]->traffic.size(), 1U);
  EXPECT_EQ(prepared[0]->traffic[0].rdma, "rxe0");
  EXPECT_EQ(prepared[0]->traffic[0].traffic.values.at("packets_in"), 7U);
}

TEST_F(MovesTest, prepare_is_answered_as_soon_as_all_have_let_go_not_at_the_deadline) {
  applications.let_go[7] = false;
  applications.let_go[8] = false;
  prepare();
  timers.advance(milliseconds(30));
  applications.answer(7);
  applications.answer(8);
  rdma.finish_removal("rxe0");
  ASSERT_EQ(prepared.size(), 1U) << "of 2000 ms, 30 have passed";
  EXPECT_EQ(prepared[0]->took, milliseconds(30));
}

TEST_F(MovesTest, knows_no_device_with_that_mac) {
  network.unplug();
  prepare();
  EXPECT_EQ(prepared.at(0).error().code, ErrorCode::DeviceNotFound);
  EXPECT_THAT(applications.told, IsEmpty());
}

TEST_F(MovesTest, prepare_sent_again_is_answered_by_the_one_under_way_and_by_the_answer) {
  prepare();
  prepare();
  rdma.finish_removal("rxe0");
  prepare();
  ASSERT_EQ(prepared.size(), 3U);
  EXPECT_EQ(prepared[1], prepared[0]);
  EXPECT_EQ(prepared[2], prepared[0]);
}

TEST_F(MovesTest, restore_sent_again_is_answered_by_the_one_under_way_and_by_the_answer) {
  prepare_fully();
  network.unplug();
  restore();
  restore();
  network.plug(3, "eth0");
  moves->links_changed();
  restore();
  ASSERT_EQ(restored.size(), 3U);
  EXPECT_TRUE(restored[2]);
  EXPECT_EQ(restored[2], restored[0]);
  EXPECT_EQ(network.brought_up, 1);
  EXPECT_EQ(ready.size(), 1U);
}

TEST_F(MovesTest, one_migration_at_a_time) {
  prepare();
  prepare(m2);
  EXPECT_EQ(prepared.at(0).error().code, ErrorCode::Busy);
  rdma.finish_removal("rxe0");
  prepare(m2);
  EXPECT_EQ(prepared.at(2).error().code, ErrorCode::Busy);
  restore(m2);
  EXPECT_EQ(restored.at(0).error().code, ErrorCode::Busy);
}

TEST_F(MovesTest, rolls_back_when_the_device_never_left) {
  prepare_fully();
  restore();
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
  EXPECT_TRUE(rdma.has("rxe0"));
  EXPECT_EQ(applications.told.back(), "ready");
}

TEST_F(MovesTest, a_restore_overtakes_a_prepare_that_can_still_be_called_off) {
  applications.let_go = {{7, false}};
  prepare();
  restore();
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_FALSE(prepared[0]);
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
  EXPECT_TRUE(rdma.has("rxe0"));
}

TEST_F(MovesTest, a_restore_follows_a_prepare_that_cannot_be_called_off_any_more) {
  prepare();
  restore();
  EXPECT_THAT(restored, IsEmpty());
  rdma.finish_removal("rxe0");
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
}

TEST_F(MovesTest, a_restarted_agent_restores_from_the_file) {
  prepare_fully();
  network.unplug();
  restart_agent();
  EXPECT_EQ(moves->prepared(), m1);
  network.plug(9, "eth1");
  restore();
  ASSERT_EQ(restored.size(), 1U);
  ASSERT_TRUE(restored[0]) << restored[0].error().message;
  EXPECT_EQ(network.put_back, network.state);
}

}  // namespace
}  // namespace rdmove::agent::test
