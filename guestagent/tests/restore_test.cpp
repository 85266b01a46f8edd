// What a restore does with a device that is not as it was.
#include "guestagent/tests/moves_fixture.hpp"

namespace rdmove::agent::test {
namespace {

TEST_F(MovesTest, without_a_capture_uses_what_is_there) {
  rdma.devices.clear();
  network.plug(3, "eth0");
  network.present = {"10.0.0.9/24"};
  restore();
  ASSERT_EQ(restored.size(), 1U);
  ASSERT_TRUE(restored[0]);
  EXPECT_EQ(restored[0]->devices[0].rdma, "rxe0");
  EXPECT_THAT(restored[0]->devices[0].addresses, ElementsAre("10.0.0.9/24"));
}

TEST_F(MovesTest, takes_another_name_when_the_old_one_is_taken) {
  prepare_fully();
  rdma.devices.push_back({"rxe0", "eth7"});
  replug();
  restore();
  EXPECT_EQ(restored.at(0)->devices[0].rdma, "rxe1");
}

TEST_F(MovesTest, retries_a_route_that_was_refused_and_then_only_warns) {
  prepare_fully();
  replug();
  network.routes_refused = 1;
  restore();
  EXPECT_THAT(restored.at(0)->warnings, IsEmpty());
  prepare(m2);
  rdma.finish_removal("rxe0");
  network.plug(5, "eth0");
  network.routes_refused = 9;
  restore(m2);
  EXPECT_THAT(restored.at(1)->warnings, ElementsAre("not put back: default"));
}

TEST_F(MovesTest, starts_over_when_the_device_goes_and_comes_during_a_restore) {
  prepare_fully();
  replug(3);
  rdma.gids_are_there = false;
  restore();
  rdma.devices.clear();
  replug(4);
  rdma.gids_are_there = true;
  timers.advance(milliseconds(10));
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
  EXPECT_EQ(network.brought_up, 2);
}

}  // namespace
}  // namespace rdmove::agent::test
