#include "guestagent/agent/dhcp/exchange.hpp"

#include <gmock/gmock.h>

#include "guestagent/tests/dhcp_parts.hpp"
#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

using namespace dhcp;
using testing::IsEmpty;
using testing::SizeIs;

class DhcpExchangeTest : public testing::Test {
 protected:
  void start(Identity identity = Identity::Known) {
    exchange = std::make_unique<Exchange>(
        timers, [this](const Bytes& message) { sent.push_back(message); }, [this] { return ++number; },
        Client{ethernet_address, from_hex("01 02")}, identity, boost::asio::ip::make_address_v4("10.0.0.5"),
        [this](const Outcome& outcome) { outcomes.push_back(outcome); });
    exchange->start();
  }
  void say(Type type, const std::string& address = "10.0.0.5", const Bytes& server = server_option) {
    exchange->received(answer(sent.back(), static_cast<std::uint8_t>(type), address, server + lease_option));
  }
  int last_type() { return option(sent.back(), 53).at(0); }

  FakeTimers timers;
  std::uint32_t number = 100;
  std::vector<Bytes> sent;
  std::vector<Outcome> outcomes;
  std::unique_ptr<Exchange> exchange;
};

TEST_F(DhcpExchangeTest, the_server_confirms) {
  start();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(option(sent[0], 50), from_hex("0a000005"));
  EXPECT_EQ(option(sent[0], 61), from_hex("01 02")) << "the same identifier";
  say(Type::Ack);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::Confirmed);
  EXPECT_EQ(outcomes[0].lease->lease, std::chrono::seconds(3600));
  EXPECT_TRUE(timers.idle());
  say(Type::Ack);
  EXPECT_THAT(outcomes, SizeIs(1)) << "once";
}

TEST_F(DhcpExchangeTest, a_refusal_leads_to_a_new_lease) {
  start();
  say(Type::Nak);
  EXPECT_EQ(last_type(), 1);
  say(Type::Offer, "10.0.0.9");
  EXPECT_EQ(last_type(), 3);
  EXPECT_EQ(option(sent.back(), 50), from_hex("0a000009"));
  EXPECT_EQ(option(sent.back(), 54), from_hex("0a000001"));
  say(Type::Ack, "10.0.0.9");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::Replaced);
  EXPECT_EQ(outcomes[0].lease->address.to_string(), "10.0.0.9");
}

TEST_F(DhcpExchangeTest, a_refusal_of_an_identity_that_is_only_assumed_changes_nothing) {
  start(Identity::Assumed);
  say(Type::Nak);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::Refused);
  EXPECT_THAT(sent, SizeIs(1));
}

TEST_F(DhcpExchangeTest, silence_ends_after_three_tries) {
  start();
  timers.advance(milliseconds(999));
  EXPECT_THAT(sent, SizeIs(1));
  timers.advance(milliseconds(6000));
  EXPECT_THAT(sent, SizeIs(3));
  EXPECT_THAT(outcomes, IsEmpty());
  timers.advance(milliseconds(1));
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::Silent);
  EXPECT_TRUE(timers.idle());
}

TEST_F(DhcpExchangeTest, a_server_that_offers_and_refuses_for_ever_is_given_up) {
  start();
  for (int i = 0; i < 2; ++i) {
    say(Type::Nak);
    say(Type::Offer, "10.0.0.9");
  }
  say(Type::Nak);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::Refused);
}

TEST_F(DhcpExchangeTest, another_servers_word_does_not_count_once_one_is_chosen) {
  start();
  say(Type::Nak);
  say(Type::Offer, "10.0.0.9");
  const auto other = from_hex("36 04 0a000042");
  say(Type::Nak, "10.0.0.9", other);
  say(Type::Ack, "10.0.0.9", other);
  say(Type::Ack, "10.0.0.8");
  EXPECT_THAT(outcomes, IsEmpty());
  say(Type::Ack, "10.0.0.9");
  EXPECT_THAT(outcomes, SizeIs(1));
}

TEST_F(DhcpExchangeTest, an_answer_to_an_earlier_question_does_not_count) {
  start();
  const auto first = sent.back();
  say(Type::Nak);
  exchange->received(answer(first, 5, "10.0.0.5", server_option + lease_option));
  exchange->received(answer(sent.back(), 5, "10.0.0.9", server_option + lease_option));
  EXPECT_THAT(outcomes, IsEmpty()) << "and an acknowledgement is no offer";
}

}  // namespace
}  // namespace rdmove::agent::test
