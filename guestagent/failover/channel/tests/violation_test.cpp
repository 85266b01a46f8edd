// A peer that breaks the rules: each one takes the link down, the application sees none of it, and it ends
// after a few.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guestagent/failover/channel/tests/scripted_peer.hpp"

namespace rdmove::failover::channel::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

struct Violation {
  const char* name;
  std::function<void(ScriptedPeer&)> act;
};

void message(ScriptedPeer& peer, std::uint64_t number, std::uint64_t acknowledged, std::uint64_t credit) {
  peer.arrives({FrameType::Message, kVersion, 0, number, acknowledged, credit}, {});
}

std::vector<Violation> all() {
  return {
      {"aGap", [](auto& p) { p.says(2, "x"); }},
      {"numberNought", [](auto& p) { p.says(0, "x"); }},
      {"theHighestNumber", [](auto& p) { p.says(UINT64_MAX, "x"); }},
      {"acknowledgementOfWhatWasNotSent", [](auto& p) { p.acknowledges(3); }},
      {"acknowledgementTakenBack", [](auto& p) { p.acknowledges(2), p.acknowledges(1); }},
      {"creditTakenBack", [](auto& p) { message(p, 1, 0, 15); }},
      {"creditThatNobodyHasSlotsFor", [](auto& p) { message(p, 1, 0, 1000); }},
      {"theHighestCredit", [](auto& p) { message(p, 1, 0, UINT64_MAX); }},
      {"aMessageAboveTheLimit", [](auto& p) { p.says(1, std::string(65, 'x')); }},
      {"aHeaderCutShort", [](auto& p) { p.arrives(std::vector<std::byte>(31)); }},
      {"nothing", [](auto& p) { p.arrives(std::vector<std::byte>()); }},
      {"aLengthThatIsNotTheFrames",
       [](auto& p) {
         std::vector<std::byte> frame(kHeaderBytes);
         write_header(frame.data(), {FrameType::Message, kVersion, 0xffffffff, 1, 0, 16});
         p.arrives(frame);
       }},
      {"aSecondHello", [](auto& p) { p.say_hello(); }},
      {"anUnknownType",
       [](auto& p) {
         p.arrives({static_cast<FrameType>(9), kVersion, 0, 0, 0, 16}, {});
       }},
      {"anAcknowledgementWithPayload",
       [](auto& p) {
         p.arrives({FrameType::Acknowledge, kVersion, 4, 0, 0, 16}, std::vector<std::byte>(4));
       }},
      {"aGoodbyeWithPayload",
       [](auto& p) {
         p.arrives({FrameType::Finish, kVersion, 4, 1, 0, 16}, std::vector<std::byte>(4));
       }},
      {"aMessageAfterTheGoodbye",
       [](auto& p) {
         p.arrives({FrameType::Finish, kVersion, 0, 1, 0, 16}, {});
         message(p, 2, 0, 16);
       }},
      {"moreRegionsThanAnnounced",
       [](auto& p) {
         p.shows({0, true, true, true, true, 1, 1, 1, *RegionName::from("r")});
       }},
      {"aRegionOutsideTheTable",
       [](auto& p) {
         p.shows({64, true, false, true, true, 1, 1, 1, *RegionName::from("r")});
       }},
      {"aRegionThatWrapsAround",
       [](auto& p) {
         p.shows({1, true, false, true, true, 1, UINT64_MAX, 2, *RegionName::from("r")});
       }},
      {"aRegionWithoutName",
       [](auto& p) {
         p.shows({1, true, false, true, true, 1, 1, 2, {}});
       }},
      {"aRegionCutShort",
       [](auto& p) {
         p.arrives({FrameType::Region, kVersion, 8, 0, 0, 16}, std::vector<std::byte>(8));
       }},
  };
}

class ViolationTest : public testing::TestWithParam<Violation> {};

TEST_P(ViolationTest, takesTheLinkDownAndReachesNobody) {
  ScriptedPeer peer;
  peer.greet();
  (void)peer.send("a"), (void)peer.send("b");
  GetParam().act(peer);
  EXPECT_THAT(peer.breaks, SizeIs(1));
  EXPECT_THAT(peer.delivered, IsEmpty());
  EXPECT_EQ(peer.session.counters().violations, 1U);
  // Whatever it still says on this link is not heard.
  const auto before = peer.sent.size();
  message(peer, 1, 0, 16);
  EXPECT_THAT(peer.delivered, IsEmpty());
  EXPECT_THAT(peer.sent, SizeIs(before));
  peer.take_down();
  peer.greet(peer.session.stream().acknowledged());
  EXPECT_EQ(peer.session.stage(), LinkStage::Ready);
}

INSTANTIATE_TEST_SUITE_P(Of, ViolationTest, testing::ValuesIn(all()),
                         [](const auto& row) { return std::string(row.param.name); });

class HelloViolationTest : public testing::TestWithParam<Violation> {};

TEST_P(HelloViolationTest, takesTheLinkDown) {
  ScriptedPeer peer;
  peer.greet();
  (void)peer.send("a");
  peer.acknowledges(1);
  peer.take_down();
  peer.open();
  peer.session.link_up();
  GetParam().act(peer);
  EXPECT_THAT(peer.breaks, SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(
    Of, HelloViolationTest,
    testing::Values(Violation{"firstSomethingElse", [](auto& p) { message(p, 1, 1, 1); }},
                    Violation{"deliveredLessThanItSaid", [](auto& p) { p.say_hello(0); }},
                    Violation{"deliveredMoreThanWasSent", [](auto& p) { p.say_hello(2); }},
                    Violation{"anotherLimit",
                              [](auto& p) {
                                p.say_hello(1, {32, 16, 16, 0});
                              }},
                    Violation{"otherSlots",
                              [](auto& p) {
                                p.say_hello(1, {64, 32, 16, 0});
                              }},
                    Violation{"tooManyRegions",
                              [](auto& p) {
                                p.say_hello(1, {64, 16, 16, 65});
                              }},
                    Violation{"noLimit",
                              [](auto& p) {
                                p.say_hello(1, {0, 16, 16, 0});
                              }},
                    Violation{"aLimitAboveAll",
                              [](auto& p) {
                                p.say_hello(1, {kLargestMessage + 1, 16, 16, 0});
                              }},
                    Violation{"tooFewSlots",
                              [](auto& p) {
                                p.say_hello(1, {64, 7, 16, 0});
                              }},
                    Violation{
                        "cutShort",
                        [](auto& p) {
                          p.arrives({FrameType::Hello, kVersion, 4, 0, 1, 16}, std::vector<std::byte>(4));
                        }}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Violations, ofAGreetingTakeTheLinkDown) {
  for (const Greeting& lie : {Greeting{0, 16, 3}, Greeting{0, 16, 0}, Greeting{0, 17, 1}, Greeting{0, 0, 1},
                              Greeting{65, 16, 1}, Greeting{0, 16, UINT64_MAX}}) {
    ScriptedPeer peer;
    peer.greet();
    for (const char* text : {"a", "b"}) (void)peer.send(text);
    peer.acknowledges(1);
    peer.take_down();
    peer.open();
    (void)peer.session.greeting();
    peer.session.link_up(lie);
    EXPECT_THAT(peer.breaks, SizeIs(1)) << lie.regions << ' ' << lie.credit << ' ' << lie.delivered;
    EXPECT_THAT(peer.numbers(), IsEmpty());
    peer.take_down();
    peer.greet(1);
    EXPECT_EQ(peer.numbers(), std::vector<std::uint64_t>{2}) << "the next one is good";
  }
}

TEST(Violations, endTheSessionAfterFour) {
  ScriptedPeer peer;
  for (int i = 0; i < 4; ++i) {
    peer.greet();
    peer.says(7, "x");
    EXPECT_EQ(peer.failure, "");
    peer.take_down();
  }
  peer.greet();
  peer.says(7, "x");
  EXPECT_NE(peer.failure, "");
  EXPECT_EQ(peer.send("a").error().code, ErrorCode::Gone);
}

TEST(Violations, anotherVersionEndsTheSessionAtOnce) {
  ScriptedPeer peer;
  peer.open();
  peer.session.link_up();
  peer.arrives({FrameType::Hello, 2, 0, 0, 0, 1}, {});
  EXPECT_NE(peer.failure, "");
  EXPECT_THAT(peer.breaks, IsEmpty());
}

TEST(Violations, aCompletionOfWhatWasNotPostedIsIgnored) {
  ScriptedPeer peer;
  peer.greet();
  (void)peer.send("a");
  for (const std::uint64_t token : {std::uint64_t{1}, std::uint64_t{77}, Session::kControlTokens + 3,
                                    Session::kControlTokens + 8, UINT64_MAX}) {
    peer.session.sent(Token{token});
  }
  peer.complete_all();
  peer.complete_all();
  EXPECT_EQ(peer.session.stage(), LinkStage::Ready);
}

}  // namespace
}  // namespace rdmove::failover::channel::test
