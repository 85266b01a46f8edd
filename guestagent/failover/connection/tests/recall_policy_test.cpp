#include "guestagent/failover/connection/recall_policy.hpp"

#include <gtest/gtest.h>

#include "guestagent/failover/connection/tests/fake_world.hpp"

namespace rdmove::failover::conn {
namespace {

using Kind = RecallPolicy::Step::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Policy : public testing::Test {
 protected:
  RecallPolicy make(Role role, std::uint64_t token = 10) { return {{role, seconds(120), token}, random_}; }
  RecallPolicy connected(Role role) {
    auto policy = make(role);
    policy.start(now_);
    policy.connected(now_, 1);
    return policy;
  }
  /// Until the policy wants something else than to wait; how long that took.
  milliseconds wait_for(RecallPolicy& policy, Kind kind, milliseconds limit = seconds(200)) {
    const Time start = now_;
    while (now_ - start <= limit) {
      step_ = policy.due(now_);
      if (step_.kind == kind) return std::chrono::duration_cast<milliseconds>(now_ - start);
      EXPECT_EQ(step_.kind, Kind::None);
      now_ += milliseconds(1);
    }
    ADD_FAILURE() << "did not happen";
    return limit;
  }
  void fail_call(RecallPolicy& policy, Failure failure) {
    policy.attempt_begun(now_, 1);
    policy.attempt_failed(now_, failure);
  }

  fake::SequenceRandom random_{7};
  Time now_{std::chrono::hours(1)};
  RecallPolicy::Step step_;
};

TEST_F(Policy, a_connector_calls_the_service_at_once) {
  auto policy = make(Role::Connector);
  policy.start(now_);
  EXPECT_EQ(wait_for(policy, Kind::Call).count(), 0);
  EXPECT_EQ(step_.target, Target::Service);
}

TEST_F(Policy, who_moved_calls_at_once_whatever_its_first_role) {
  for (const auto role : {Role::Connector, Role::Acceptor}) {
    auto policy = connected(role);
    policy.lost(now_, Loss::Moved);
    EXPECT_TRUE(policy.moved());
    EXPECT_EQ(wait_for(policy, Kind::Call).count(), 0);
    EXPECT_EQ(step_.target, Target::Recall);
  }
}

TEST_F(Policy, who_stayed_waits_two_seconds_as_connector_and_four_as_acceptor) {
  auto connector = connected(Role::Connector);
  connector.lost(now_, Loss::Stayed);
  EXPECT_EQ(wait_for(connector, Kind::Call).count(), 2000);
  auto acceptor = connected(Role::Acceptor);
  acceptor.lost(now_, Loss::Stayed);
  EXPECT_EQ(wait_for(acceptor, Kind::Call).count(), 4000);
}

TEST_F(Policy, who_waits_waits_longer_while_the_peer_calls_for_its_other_connections) {
  for (const auto role : {Role::Connector, Role::Acceptor}) {
    const milliseconds silence(role == Role::Connector ? 2000 : 4000);
    auto policy = connected(role);
    policy.lost(now_, Loss::Stayed);
    now_ += silence - milliseconds(1);
    policy.peer_is_calling(now_);
    policy.peer_is_calling(now_ - milliseconds(500));  // no news
    EXPECT_EQ(wait_for(policy, Kind::Call), silence);
  }
}

TEST_F(Policy, the_peers_calls_for_others_hold_up_nobody_who_has_to_call) {
  auto moved = connected(Role::Acceptor);
  moved.lost(now_, Loss::Stayed);
  moved.device_left(now_);
  EXPECT_FALSE(moved.is_listening());
  moved.peer_is_calling(now_);
  EXPECT_EQ(wait_for(moved, Kind::Call).count(), 0);
  auto refused = connected(Role::Acceptor);
  refused.lost(now_, Loss::Stayed);
  wait_for(refused, Kind::Call);
  fail_call(refused, Failure::StaleEpoch);
  refused.peer_is_calling(now_);
  EXPECT_EQ(wait_for(refused, Kind::Call).count(), 0);
}

TEST_F(Policy, a_removal_that_is_learnt_after_the_loss_ends_the_wait) {
  auto policy = connected(Role::Acceptor);
  policy.lost(now_, Loss::Stayed);
  policy.device_left(now_ + milliseconds(100));
  EXPECT_EQ(wait_for(policy, Kind::Call).count(), 100);
  EXPECT_TRUE(policy.moved());
}

TEST_F(Policy, nothing_is_called_while_the_agent_holds_us_and_give_up_waits) {
  auto policy = connected(Role::Connector);
  policy.hold(now_);
  policy.lost(now_, Loss::Moved);
  EXPECT_FALSE(policy.next());
  now_ += seconds(1000);
  EXPECT_EQ(policy.due(now_).kind, Kind::None);
  policy.unhold(now_);
  EXPECT_EQ(wait_for(policy, Kind::Call).count(), 0);
}

TEST_F(Policy, gives_up_after_its_time) {
  auto policy = connected(Role::Acceptor);
  policy.lost(now_, Loss::Stayed);
  const Time start = now_;
  while (policy.due(now_).kind != Kind::End) {
    if (policy.due(now_).kind == Kind::Call) fail_call(policy, Failure::NoAnswer);
    now_ += milliseconds(10);
    ASSERT_LT(now_ - start, seconds(121));
  }
  EXPECT_EQ(policy.due(now_).reason, GoneReason::TimedOut);
  EXPECT_GE(now_ - start, seconds(119));
}

TEST_F(Policy, backs_off_with_full_jitter_up_to_two_seconds) {
  auto policy = connected(Role::Connector);
  policy.lost(now_, Loss::Moved);
  milliseconds longest{0};
  for (int n = 0; n < 30; ++n) {
    const auto waited = wait_for(policy, Kind::Call);
    if (n > 0) {
      EXPECT_LE(waited.count(), std::min(2000L, 20L << std::min(n - 1, 10)));
    }
    longest = std::max(longest, waited);
    fail_call(policy, Failure::Busy);
  }
  EXPECT_GT(longest.count(), 1000);
}

TEST_F(Policy, an_attempt_has_one_to_two_seconds_and_more_in_a_crowd) {
  auto policy = connected(Role::Connector);
  policy.lost(now_, Loss::Moved);
  (void)policy.due(now_);
  policy.attempt_begun(now_, 0);
  const auto alone = wait_for(policy, Kind::Abandon).count();
  EXPECT_GE(alone, 1000);
  EXPECT_LE(alone, 2000);
  policy.attempt_begun(now_, 500);
  EXPECT_GE(wait_for(policy, Kind::Abandon).count(), 6000);
}

TEST_F(Policy, what_is_stale_is_called_again_at_once_but_not_for_ever) {
  for (const auto stale : {Failure::StaleConnection, Failure::StaleEpoch}) {
    auto policy = connected(Role::Connector);
    policy.lost(now_, Loss::Moved);
    for (int n = 0; n < 4; ++n) {
      EXPECT_EQ(wait_for(policy, Kind::Call).count(), 0);
      fail_call(policy, stale);
    }
    milliseconds waited{0};
    for (int n = 0; n < 10; ++n) {
      waited += wait_for(policy, Kind::Call);
      fail_call(policy, stale);
    }
    EXPECT_GT(waited.count(), 0);
  }
}

TEST_F(Policy, epochs_grow_above_all_that_was_seen) {
  auto policy = connected(Role::Connector);
  EXPECT_EQ(policy.next_epoch(), 2U);
  EXPECT_EQ(policy.next_epoch(), 3U);
  policy.call_accepted(now_, 9);
  EXPECT_EQ(policy.next_epoch(), 10U);
  EXPECT_EQ(policy.judge_call({9, 99, false}), Verdict::StaleEpoch);
}

TEST_F(Policy, of_two_calls_that_cross_the_lower_token_counts) {
  auto lower = connected(Role::Connector);
  lower.lost(now_, Loss::Moved);
  (void)lower.due(now_);
  lower.attempt_begun(now_, 0);
  EXPECT_EQ(lower.judge_call({2, 11, true}), Verdict::Accept) << "it has not called yet";
  lower.call_sent();
  EXPECT_EQ(lower.judge_call({2, 11, true}), Verdict::Collision);
  EXPECT_EQ(lower.judge_call({2, 9, true}), Verdict::Accept);
}

TEST_F(Policy, of_two_calls_that_cross_the_one_of_who_moved_counts) {
  auto moved = connected(Role::Connector);
  moved.lost(now_, Loss::Moved);
  auto stayed = connected(Role::Acceptor);
  stayed.lost(now_, Loss::Stayed);
  for (auto* policy : {&moved, &stayed}) {
    wait_for(*policy, Kind::Call);
    policy->attempt_begun(now_, 0);
    policy->call_sent();
  }
  for (const std::uint64_t token : {9U, 11U}) {
    EXPECT_EQ(moved.judge_call({2, token, false}), Verdict::Collision);
    EXPECT_EQ(stayed.judge_call({2, token, true}), Verdict::Accept);
  }
}

TEST_F(Policy, after_a_collision_it_waits_to_be_called_and_calls_if_that_does_not_come) {
  auto policy = connected(Role::Acceptor);
  policy.lost(now_, Loss::Moved);
  (void)policy.due(now_);
  fail_call(policy, Failure::Collision);
  EXPECT_EQ(wait_for(policy, Kind::Call).count(), 2000);
}

TEST_F(Policy, is_busy_while_held) {
  auto policy = connected(Role::Acceptor);
  policy.hold(now_);
  EXPECT_EQ(policy.judge_call({2, 1, false}), Verdict::Busy);
}

TEST_F(Policy, without_a_listener_a_connector_asks_at_the_service_too_and_ends_after_ten_seconds) {
  auto policy = connected(Role::Connector);
  policy.lost(now_, Loss::Moved);
  const Time start = now_;
  bool service = false;
  for (;;) {
    const auto step = policy.due(now_);
    if (step.kind == Kind::End) {
      EXPECT_EQ(step.reason, GoneReason::PeerEnded);
      break;
    }
    if (step.kind == Kind::Call) {
      service = service || step.target == Target::Service;
      fail_call(policy, Failure::NoListener);
    }
    now_ += milliseconds(1);
    ASSERT_LT(now_ - start, seconds(20));
  }
  EXPECT_TRUE(service);
  EXPECT_GE(now_ - start, seconds(10));
}

TEST_F(Policy, a_first_connect_that_nobody_listens_to_is_refused_within_seconds) {
  auto policy = make(Role::Connector);
  policy.start(now_);
  const Time start = now_;
  while (policy.due(now_).kind != Kind::End) {
    fail_call(policy, Failure::NoListener);
    now_ += milliseconds(100);
    ASSERT_LT(now_ - start, seconds(5));
  }
  EXPECT_EQ(policy.due(now_).reason, GoneReason::Refused);
}

TEST_F(Policy, an_address_that_appears_ends_the_backoff) {
  auto policy = connected(Role::Connector);
  policy.lost(now_, Loss::Moved);
  for (int n = 0; n < 9; ++n) {
    wait_for(policy, Kind::Call);
    fail_call(policy, Failure::NoWay);
  }
  policy.way_appeared(now_);
  EXPECT_EQ(wait_for(policy, Kind::Call).count(), 0);
}

TEST_F(Policy, an_address_that_appears_does_not_make_who_stayed_call) {
  auto policy = connected(Role::Connector);
  policy.lost(now_, Loss::Stayed);
  policy.way_appeared(now_);
  EXPECT_EQ(wait_for(policy, Kind::Call).count(), 2000);
}

}  // namespace
}  // namespace rdmove::failover::conn
