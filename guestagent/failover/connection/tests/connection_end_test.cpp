// How a connection ends, and what each end is told.
#include "guestagent/failover/connection/tests/two_machines.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::seconds;

TEST_F(TwoMachines, who_closes_is_not_called_back_for_long) {
  bring_up();
  callee->connection->close();
  run(seconds(6));
  ASSERT_TRUE(caller->end);
  EXPECT_EQ(caller->end->reason, GoneReason::PeerClosed);
  expect_order();
}

TEST_F(TwoMachines, an_acceptor_learns_too_that_its_peer_has_closed) {
  bring_up();
  caller->connection->close();
  run(seconds(6));
  ASSERT_TRUE(callee->end);
  EXPECT_EQ(callee->end->reason, GoneReason::PeerClosed);
}

TEST_F(TwoMachines, a_restarted_peer_is_told_from_one_that_closed) {
  bring_up();
  b.reset();
  b = std::make_unique<Machine>(fabric, "10.0.0.2", 77, clock);
  b->listen(7000);
  run(seconds(13));
  ASSERT_TRUE(caller->end);
  EXPECT_EQ(caller->end->reason, GoneReason::PeerRestarted);
}

// It knows the recall port alone, where the new process does not listen.
TEST_F(TwoMachines, an_acceptor_ends_with_a_caller_that_was_started_anew_after_ten_seconds) {
  bring_up();
  a.reset();
  a = std::make_unique<Machine>(fabric, "10.0.0.1", 77, clock);
  auto& fresh = a->connect("10.0.0.2", 7000);
  run(seconds(13));
  EXPECT_EQ(fresh.ups, 1);
  EXPECT_FALSE(callee->end);
  run(seconds(4));
  ASSERT_TRUE(callee->end);
  EXPECT_EQ(callee->end->reason, GoneReason::PeerEnded);
  EXPECT_EQ(b->owners.back()->connection->state(), ConnectionState::Up) << "the new session is another";
}

TEST_F(TwoMachines, an_acceptor_is_told_of_the_new_process_where_that_has_the_old_ones_recall_port) {
  bring_up();
  const auto recall_port = a->hub.recall_port();
  a.reset();
  a = std::make_unique<Machine>(fabric, "10.0.0.1", 77, clock);
  a->listen(recall_port);
  run(seconds(6));
  ASSERT_TRUE(callee->end);
  EXPECT_EQ(callee->end->reason, GoneReason::PeerRestarted);
}

TEST_F(TwoMachines, a_peer_whose_process_ended_is_given_up_after_ten_seconds) {
  bring_up();
  b.reset();
  FakePort silent(fabric, "10.0.0.2");  // the host is there, and nobody listens
  silent.add_device();
  run(seconds(16));
  ASSERT_TRUE(caller->end);
  EXPECT_EQ(caller->end->reason, GoneReason::PeerEnded);
}

TEST_F(TwoMachines, nobody_listening_and_an_application_that_refuses_are_both_refused) {
  auto& nobody = a->connect("10.0.0.2", 7001);
  b->accepts = false;
  auto& refused = a->connect("10.0.0.2", 7000);
  run(seconds(6));
  ASSERT_TRUE(nobody.end);
  EXPECT_EQ(nobody.end->reason, GoneReason::Refused);
  ASSERT_TRUE(refused.end);
  EXPECT_EQ(refused.end->reason, GoneReason::Refused);
  expect_order();
}

TEST_F(TwoMachines, a_connect_that_finds_no_way_times_out) {
  ConnectionOptions options;
  options.give_up_after = seconds(5);
  auto& lonely = a->connect("10.0.0.9", 7000, options);
  run(seconds(6));
  ASSERT_TRUE(lonely.end);
  EXPECT_EQ(lonely.end->reason, GoneReason::TimedOut);
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
