// The agent's quiesce: all lets go in time, and goes on when the move is called off.
#include "guestagent/failover/connection/tests/two_machines.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Quiescing : public TwoMachines {};

TEST_F(Quiescing, a_quiesce_ends_with_nothing_on_the_device_but_canaries) {
  bring_up();
  bool released = false;
  QuiesceRound round(a->hub, seconds(2), [&] { released = true; });
  round.start();
  run(milliseconds(150));
  EXPECT_TRUE(released);
  EXPECT_TRUE(caller->asked);
  EXPECT_EQ(caller->downs, std::vector{DownReason::Quiesced});
  EXPECT_EQ(callee->downs, std::vector{DownReason::Disconnected}) << "the peer hears it at once";
  EXPECT_EQ(a->port.live_devices, 0U);
  EXPECT_EQ(a->live_endpoints(), 2U) << "the recall listener and the canary";
  a->port.remove_device();
  run(milliseconds(50));
  EXPECT_EQ(a->live_endpoints(), 1U);
  EXPECT_GE(a->port.let_go_count, 1);
  run(seconds(10));
  EXPECT_EQ(caller->ups, 1) << "held";
  a->port.add_device();
  a->hub.unhold();
  run(milliseconds(100));
  EXPECT_EQ(caller->ups, 2);
  expect_traffic();
  expect_order();
}

TEST_F(Quiescing, an_owner_that_does_not_finish_is_taken_down_before_the_deadline) {
  bring_up();
  caller->answers_quiesce = false;
  bool released = false;
  QuiesceRound round(a->hub, seconds(2), [&] { released = true; });
  round.start();
  run(milliseconds(1500));
  EXPECT_FALSE(released);
  run(milliseconds(450));
  EXPECT_TRUE(released);
  expect_order();
}

TEST_F(Quiescing, a_move_that_is_called_off_reconnects_on_the_same_device) {
  bring_up();
  {
    QuiesceRound round(a->hub, seconds(2), [] {});
    round.start();
    run(milliseconds(150));
  }
  a->hub.unhold();
  run(milliseconds(100));
  EXPECT_EQ(caller->ups, 2);
  expect_traffic();
  expect_order();
}

TEST_F(Quiescing, an_owner_that_was_asked_goes_on_although_the_move_is_called_off_before_it_went_down) {
  bring_up();
  caller->answers_quiesce = false;
  {
    QuiesceRound round(a->hub, seconds(2), [] {});
    round.start();
    run(milliseconds(150));
    EXPECT_EQ(caller->downs.size(), 0U);
  }
  a->hub.unhold();
  run(milliseconds(200));
  EXPECT_EQ(caller->ups, 2) << "it has stopped, and up() is the word for going on";
  expect_traffic();
  expect_order();
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
