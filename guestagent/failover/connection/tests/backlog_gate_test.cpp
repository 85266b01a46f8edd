#include "guestagent/failover/connection/backlog_gate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rdmove::failover::conn {
namespace {

TEST(BacklogGate, lets_in_as_many_as_the_peer_told_and_the_rest_in_order) {
  BacklogGate gate;
  gate.learn("a", 2);
  std::vector<int> inside;
  std::vector<std::unique_ptr<BacklogGate::Ticket>> tickets;
  for (int n = 0; n < 5; ++n) tickets.push_back(gate.enter("a", [&inside, n] { inside.push_back(n); }));
  EXPECT_EQ(inside, (std::vector{0, 1}));
  tickets[3].reset();  // gives up its place
  tickets[0].reset();
  EXPECT_EQ(inside, (std::vector{0, 1, 2}));
  tickets[1].reset();
  EXPECT_EQ(inside, (std::vector{0, 1, 2, 4}));
  EXPECT_EQ(gate.in_flight("a"), 2U);
}

TEST(BacklogGate, peers_do_not_wait_for_each_other) {
  BacklogGate gate;
  gate.learn("a", 1);
  int inside = 0;
  const auto one = gate.enter("a", [&] { ++inside; });
  const auto two = gate.enter("b", [&] { ++inside; });
  EXPECT_EQ(inside, 2);
}

TEST(BacklogGate, a_larger_backlog_lets_the_waiting_in) {
  BacklogGate gate;
  gate.learn("a", 1);
  int inside = 0;
  const auto one = gate.enter("a", [&] { ++inside; });
  const auto two = gate.enter("a", [&] { ++inside; });
  gate.learn("a", 0);
  EXPECT_EQ(inside, 1) << "a backlog of nothing still takes one";
  gate.learn("a", 8);
  EXPECT_EQ(inside, 2);
}

TEST(BacklogGate, a_call_may_end_inside_of_its_admission) {
  BacklogGate gate;
  gate.learn("a", 1);
  auto first = gate.enter("a", [] {});
  std::unique_ptr<BacklogGate::Ticket> second;
  bool third_inside = false;
  second = gate.enter("a", [&] { second.reset(); });
  const auto third = gate.enter("a", [&] { third_inside = true; });
  first.reset();
  EXPECT_TRUE(third_inside);
}

TEST(BacklogGate, forgets_peers_that_nobody_calls) {
  BacklogGate gate;
  gate.learn("a", 1);
  const auto inside = gate.enter("a", [] {});
  bool second_inside = false;
  const auto waiting = gate.enter("a", [&] { second_inside = true; });
  for (int n = 0; n < 20'000; ++n) gate.learn("peer " + std::to_string(n), 8);
  EXPECT_LE(gate.known_peers(), BacklogGate::most_idle_peers + 1);
  EXPECT_EQ(gate.in_flight("a"), 1U) << "it is called";
  EXPECT_FALSE(second_inside);
}

}  // namespace
}  // namespace rdmove::failover::conn
