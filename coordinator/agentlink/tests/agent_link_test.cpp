// The channel's life: opening, hello, sending again, deadlines, destruction.
#include <utility>
//
#include "coordinator/agentlink/tests/fake_guest.hpp"

namespace rdmove {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

class AgentLinkTest : public testing_support::AgentLinkFixture {};

TEST_F(AgentLinkTest, says_hello_first_and_sends_nothing_before_its_answer) {
  openLink();
  askHoldouts();
  const json request = next("hello");
  EXPECT_EQ(request["params"]["version"], 1);
  runFor(10ms);
  EXPECT_EQ(waiting(), 0U);
  sayLine(result(request, hello()));
  const json asked = next("holdouts");
  sayLine(result(asked, {{"holdouts", json::array({{{"pid", 7}, {"name", "rping"}, {"device", "rxe0"}}})}}));
  ASSERT_TRUE(answered());
  ASSERT_TRUE(answers_[0]) << answers_[0].error().sentence();
  EXPECT_EQ(answers_[0]->at(0).name, "rping");
}

TEST_F(AgentLinkTest, a_request_is_sent_again_with_its_id_after_the_channel_was_closed) {
  openLink();
  greet();
  askHoldouts();
  const json first = next("holdouts");
  hangUp();
  ASSERT_TRUE(run([&] { return hypervisor_.wireCount() == 2; }));
  greet();
  const json second = next("holdouts");
  EXPECT_EQ(first, second);
  sayLine(result(second, {{"holdouts", json::array()}}));
  ASSERT_TRUE(answered());
  EXPECT_TRUE(answers_[0]);
}

TEST_F(AgentLinkTest, opens_again_while_requests_wait_and_rests_without) {
  for (int i = 0; i < 5; ++i) hypervisor_.errors.push_back({ErrorCode::kNotFound, "open", "no domain", ""});
  openLink();
  runFor(30ms);
  EXPECT_EQ(hypervisor_.opens, 1) << "nobody asks: tried once, ahead";
  askHoldouts();
  greet();
  sayLine(result(next("holdouts"), {{"holdouts", json::array()}}));
  ASSERT_TRUE(answered());
  EXPECT_EQ(hypervisor_.opens, 6);
  hangUp();
  runFor(30ms);
  EXPECT_EQ(hypervisor_.opens, 6);
}

TEST_F(AgentLinkTest, a_silent_agent_is_a_timeout_that_says_what_to_look_at) {
  openLink();
  askHoldouts(60ms);
  ASSERT_TRUE(answered());
  ASSERT_FALSE(answers_[0]);
  EXPECT_EQ(answers_[0].error().code, ErrorCode::kTimeout);
  EXPECT_THAT(answers_[0].error().sentence(), HasSubstr("rdmove-agent runs in the guest"));
}

TEST_F(AgentLinkTest, a_channel_that_never_opens_is_named_in_the_timeout) {
  hypervisor_.errors.push_back({ErrorCode::kNotFound, "open channel", "no such channel", ""});
  hypervisor_.errors_stay = true;
  openLink();
  askHoldouts(40ms);
  ASSERT_TRUE(answered());
  EXPECT_EQ(answers_[0].error().code, ErrorCode::kTimeout);
  EXPECT_THAT(answers_[0].error().sentence(), HasSubstr("no such channel"));
}

TEST_F(AgentLinkTest, a_port_that_another_program_has_is_a_conflict) {
  hypervisor_.errors.push_back({ErrorCode::kConflict, "open channel", "Active channel stream exists", ""});
  hypervisor_.errors_stay = true;
  openLink();
  askHoldouts();
  ASSERT_TRUE(answered());
  EXPECT_EQ(answers_[0].error().code, ErrorCode::kConflict);
}

TEST_F(AgentLinkTest, a_conflict_with_our_own_last_close_is_waited_out) {
  for (int i = 0; i < 3; ++i) hypervisor_.errors.push_back({ErrorCode::kConflict, "open", "exists", ""});
  openLink();
  askHoldouts();
  greet();
  sayLine(result(next("holdouts"), {{"holdouts", json::array()}}));
  ASSERT_TRUE(answered());
  EXPECT_TRUE(answers_[0]);
}

TEST_F(AgentLinkTest, hello_is_said_again_to_an_agent_that_starts_late) {
  limits_.hello_again = 20ms;
  openLink();
  askHoldouts();
  const json lost = next("hello");
  const json again = next("hello");
  EXPECT_EQ(lost["id"], again["id"]) << "so that a late answer counts";
  sayLine(result(lost, hello()));
  EXPECT_FALSE(next("holdouts").is_null());
}

TEST_F(AgentLinkTest, an_agent_that_restarted_is_greeted_and_asked_again) {
  openLink();
  greet();
  askHoldouts();
  const json first = next("holdouts");
  sayLine({{"jsonrpc", "2.0"}, {"method", "hello"}, {"params", hello(1, "i2")}});
  sayLine(result(next("hello"), hello(1, "i2")));
  EXPECT_EQ(next("holdouts"), first);
}

TEST_F(AgentLinkTest, a_hello_of_the_same_agent_sends_what_it_dropped) {
  openLink();
  greet();
  askHoldouts();
  const json first = next("holdouts");
  sayLine({{"jsonrpc", "2.0"}, {"method", "hello"}, {"params", hello()}});
  EXPECT_EQ(next("holdouts"), first);
}

TEST_F(AgentLinkTest, deadlines_stand_still_while_the_domain_is_paused) {
  openLink();
  greet();
  askHoldouts(30ms);
  link_->setPaused(true);
  runFor(60ms);
  EXPECT_TRUE(answers_.empty());
  link_->setPaused(false);
  ASSERT_TRUE(answered());
  EXPECT_EQ(answers_[0].error().code, ErrorCode::kTimeout);
}

TEST_F(AgentLinkTest, nothing_is_answered_after_the_link_is_gone) {
  openLink();
  greet();
  askHoldouts();
  const json asked = next("holdouts");
  sayLine(result(asked, {{"holdouts", json::array()}}));
  link_->query("nonsense", 20ms, [this](Result<std::string>) { answers_.emplace_back(); });
  link_.reset();
  runFor(50ms);
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(hypervisor_.last()->listener, nullptr) << "the channel is closed";
}

TEST_F(AgentLinkTest, a_link_may_be_dropped_from_its_own_answer) {
  openLink();
  greet();
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    link_->holdouts(5s, [&](Result<std::vector<Holdout>>) {
      ++calls;
      link_.reset();
    });
  }
  std::string lines;
  for (int i = 0; i < 3; ++i) lines += result(next("holdouts"), {{"holdouts", json::array()}}).dump() + "\n";
  say(lines);
  ASSERT_TRUE(run([&] { return calls > 0; }));
  runFor(10ms);
  EXPECT_EQ(calls, 1);
}

TEST_F(AgentLinkTest, a_link_dropped_while_it_opens_leaves_no_channel_open) {
  for (int i = 0; i < 50; ++i) {
    openLink();
    link_.reset();
  }
  runFor(20ms);
  for (const auto& wire : hypervisor_.wires) EXPECT_EQ(wire->listener, nullptr);
}

TEST_F(AgentLinkTest, too_many_requests_are_refused) {
  openLink();
  for (int i = 0; i < 70; ++i) askHoldouts();
  ASSERT_TRUE(answered(6));
  EXPECT_EQ(answers_[0].error().code, ErrorCode::kExhausted);
}

}  // namespace
}  // namespace rdmove
