#include "shadowdev/device/peer_message.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "shadowdev/device/tests/world.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"

namespace rdmove::shadow::test {
namespace {

Question sample() {
  Question question;
  question.ask = Ask::Reconnect;
  question.from_number = 17;
  question.to_number = 0xFFFFFF;
  question.from_epoch = 3;
  question.physical_number = 18;
  question.psn = 0x123456;
  question.pairs = {{1, 2}, {0xFFFFFFFF, 4}};
  return question;
}

TEST(PeerMessage, comesBackAsItWas) {
  EXPECT_EQ(decode_question(encode(sample())).value(), sample());
  Answer answer;
  answer.said = Said::NotYet;
  answer.drained = true;
  answer.send_psn = 5;
  answer.epoch = 9;
  answer.pairs = {{7, 8}};
  EXPECT_EQ(decode_answer(encode(answer)).value(), answer);
}

TEST(PeerMessage, isRefusedWhenCutOrLongerOrOfAnotherVersion) {
  const auto whole = encode(sample());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(decode_question(std::span(whole).first(length))) << length;
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_question(longer));
  auto other = whole;
  other[1] = std::byte{2};
  EXPECT_FALSE(decode_question(other));
  EXPECT_FALSE(decode_answer(whole)) << "a question is no answer";
}

TEST(PeerMessage, aCountOrNumberThatIsTooLargeIsRefused) {
  Question many = sample();
  many.pairs.resize(10'000);
  const auto bytes = encode(many);
  EXPECT_LE(bytes.size(), kLongestMessage);
  EXPECT_EQ(decode_question(bytes)->pairs.size(), kMostPairs);
  auto claims = encode(sample());
  const std::size_t count = claims.size() - 16 - 2;
  claims[count] = claims[count + 1] = std::byte{0xFF};
  EXPECT_FALSE(decode_question(claims));
  Question wide = sample();
  wide.psn = 1U << 24U;
  EXPECT_FALSE(decode_question(encode(wide)));
}

TEST(PeerMessage, noBytesDoHarmToTheDeskOrToTraffic) {
  const bool held = rc::check("any bytes", [] {
    fake::Fabric fabric(1);
    Exchange exchange;
    Process left(fabric, exchange, "left", 1), right(fabric, exchange, "right", 2);
    fake::End a(left.verbs, "left0"), b(right.verbs, "right0");
    fake::End::connect(a, b);
    const auto numbers =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 40));
    const bool stranger = *rc::gen::arbitrary<bool>();
    const ibv_gid from = stranger ? fake::Fabric::gid_of(77) : a.gid;
    for (const std::uint32_t number : numbers) {
      Question question = sample();
      question.ask = Ask{static_cast<std::uint8_t>(number % 13)};
      question.from_number = number % 3 == 0 ? a.qp->qp_num : number;
      question.to_number = number % 2 == 0 ? b.qp->qp_num : number;
      question.from_epoch = number % 4;
      auto bytes = encode(question);
      if (number % 5 == 0) bytes[number % bytes.size()] ^= std::byte{0x41};
      RC_ASSERT(decode_answer(right.desk.answer(from, b.gid, bytes)).has_value());
    }
    if (!stranger) return;  // its own peer may take its QP away
    RC_ASSERT(b.receive(1, 0, 64) == 0);
    RC_ASSERT(a.send(IBV_WR_SEND, 2, 0, 8, IBV_SEND_SIGNALED) == 0);
    fabric.run();
    const auto seen = a.poll();
    RC_ASSERT(seen.size() == 1U && seen[0].status == IBV_WC_SUCCESS);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace rdmove::shadow::test
