// The rules of docs/channel-protocol.md, one by one: greeting, acknowledging, credit, failover, goodbye.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guestagent/failover/channel/tests/scripted_peer.hpp"

namespace rdmove::failover::channel::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Greeting, nothingButTheHelloGoesOutBeforeThePeersHello) {
  ScriptedPeer peer;
  peer.greet();
  (void)peer.send("a");
  peer.take_down();
  peer.open();
  peer.session.link_up();
  ASSERT_THAT(peer.sent, SizeIs(1));
  EXPECT_EQ(peer.sent[0].header.type, FrameType::Hello);
  peer.say_hello();
  EXPECT_THAT(peer.numbers(), ElementsAre(1));
}

TEST(Greeting, aHelloThatArrivesBeforeWeAreUpIsKept) {
  ScriptedPeer peer;
  peer.open();
  peer.say_hello();
  EXPECT_EQ(peer.session.stage(), LinkStage::Opened);
  peer.session.link_up();
  EXPECT_EQ(peer.session.stage(), LinkStage::Ready);
  EXPECT_THAT(peer.log, ElementsAre("ready"));
}

TEST(Greeting, sendHasNoRoomBeforeThePeersLimitIsKnown) {
  ScriptedPeer peer;
  EXPECT_EQ(peer.send("a").error().code, ErrorCode::WouldBlock);
  peer.greet();
  EXPECT_THAT(peer.log, ElementsAre("ready", "writable"));
  EXPECT_EQ(peer.send("a"), 1U);
}

TEST(Greeting, isReadyOnlyWhenThePeersRegionsAreKnown) {
  ScriptedPeer peer;
  peer.greet(0, {64, 16, 16, 1});
  EXPECT_EQ(peer.session.stage(), LinkStage::Exchanging);
  peer.shows({3, true, true, true, true, 9, 4096, 100, *RegionName::from("r")});
  EXPECT_EQ(peer.session.stage(), LinkStage::Ready);
  EXPECT_THAT(peer.log, ElementsAre("ready"));
}

TEST(Greeting, aPeerThatNeverGreetsIsLetGo) {
  ScriptedPeer peer;
  peer.open();
  peer.session.link_up();
  peer.pass(9999ms);
  EXPECT_THAT(peer.breaks, IsEmpty());
  peer.pass(1ms);
  EXPECT_THAT(peer.breaks, SizeIs(1));
}

TEST(Greeting, aPeerThatHasGreetedOnceMayBeSlowToComeBackAsOftenAsItIs) {
  ScriptedPeer peer;
  peer.greet();
  for (int link = 0; link < 20; ++link) {
    peer.take_down();
    peer.open();
    peer.session.link_up();
    peer.pass(10s);
  }
  EXPECT_THAT(peer.breaks, SizeIs(20));
  EXPECT_EQ(peer.failure, "");
}

TEST(Greeting, aHelloWaitsForTheDeliveryThatIsGoingOn) {
  ScriptedPeer peer;
  peer.greet();
  peer.on_received = [&] {
    peer.take_down();
    peer.open();
    peer.session.link_up();
    EXPECT_THAT(peer.sent, IsEmpty());
  };
  peer.says(1, "a");
  ASSERT_THAT(peer.sent, SizeIs(1));
  EXPECT_EQ(peer.sent[0].header.acknowledged, 1U);
  EXPECT_THAT(peer.receives, SizeIs(16)) << "the slot that was being looked at is posted, too";
}

TEST(Acknowledging, comesOnlyAfterTheCallbackHasReturned) {
  ScriptedPeer peer;
  peer.greet();
  peer.on_received = [&] { (void)peer.send("echo"); };
  peer.says(1, "a");
  peer.says(2, "b");
  ASSERT_THAT(peer.numbers(), ElementsAre(1, 2));
  EXPECT_EQ(peer.sent[1].header.acknowledged, 0U);
  EXPECT_EQ(peer.sent[2].header.acknowledged, 1U);
}

TEST(Acknowledging, ridesOnMessages) {
  ScriptedPeer peer;
  peer.greet();
  peer.says(1, "a");
  (void)peer.send("answer");
  EXPECT_EQ(peer.sent.back().header.acknowledged, 1U);
  peer.pass(10ms);
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 0U) << "nothing is left to be told";
}

TEST(Acknowledging, goesAloneAfterAtMostTheDelay) {
  ScriptedPeer peer;
  peer.greet();
  peer.says(1, "a");
  peer.pass(2500us);
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 0U);
  peer.pass(2500us);
  ASSERT_EQ(peer.count(FrameType::Acknowledge), 1U);
  EXPECT_EQ(peer.sent.back().header.acknowledged, 1U);
}

TEST(Acknowledging, goesAloneWhenHalfTheWindowWaits) {
  ScriptedPeer peer;
  peer.greet(0, {64, 16, 4, 0});  // the peer keeps 4
  peer.says(1, "a");
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 0U);
  peer.says(2, "b");
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 1U);
}

TEST(Credit, dataLeavesTheReserve) {
  ScriptedPeer peer;
  peer.greet();  // 16 frames, one of them the hello
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(peer.send("m"));
  EXPECT_THAT(peer.sent, SizeIs(16 - kControlReserve));
  peer.credit += 2;
  peer.acknowledges(0);
  EXPECT_THAT(peer.sent, SizeIs(18 - kControlReserve));
}

TEST(Credit, isGrantedWhenHalfOfItIsUsed) {
  ScriptedPeer peer;
  peer.greet(0, {64, 16, 200, 0});
  const auto hello = peer.sent[0].header;
  EXPECT_EQ(hello.credit, 16U);
  peer.session.pause();
  peer.session.unpause();
  for (std::uint64_t i = 1; i < 7; ++i) peer.says(i, "m");
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 0U);
  peer.says(7, "m");  // with the hello: 8 of 16
  ASSERT_EQ(peer.count(FrameType::Acknowledge), 1U);
  EXPECT_EQ(peer.sent.back().header.credit, 24U);
}

TEST(Credit, aPausedApplicationHoldsItBack) {
  ScriptedPeer peer;
  peer.greet();
  peer.session.pause();
  for (std::uint64_t i = 1; i <= 11; ++i) peer.says(i, "m");
  EXPECT_THAT(peer.delivered, IsEmpty());
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 0U);
  peer.session.unpause();
  EXPECT_THAT(peer.delivered, SizeIs(11));
  EXPECT_EQ(peer.sent.back().header.credit, 28U);
  EXPECT_EQ(peer.sent.back().header.acknowledged, 11U);
}

TEST(Credit, aPausedApplicationStillAnswersTheReserve) {
  ScriptedPeer peer;
  peer.greet();
  peer.session.pause();
  for (std::uint64_t i = 1; i <= 11; ++i)
    peer.says(i, "m");  // with the hello 12 of 16: all that data may use
  peer.acknowledges(0);
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 0U) << "2 of the 5 free ones are news";
  peer.acknowledges(0);
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 1U) << "3 of 5";
  peer.acknowledges(0);
  peer.acknowledges(0);
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 1U) << "no storm of answers";
  peer.acknowledges(0);
  EXPECT_EQ(peer.count(FrameType::Acknowledge), 2U);
}

TEST(Sending, isBoundedByTheSlots) {
  ScriptedPeer peer;
  peer.greet();
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(peer.send("m"));
  EXPECT_EQ(peer.send("m").error().code, ErrorCode::WouldBlock);
  peer.complete_all();
  peer.acknowledges(3);
  EXPECT_THAT(peer.log, Contains("writable"));
  EXPECT_EQ(peer.send("m"), 17U);
}

TEST(Sending, aSlotIsNotUsedAgainBeforeTheDeviceHasLetGo) {
  ScriptedPeer peer;
  peer.greet();
  for (int i = 0; i < 16; ++i) (void)peer.send("m");
  peer.acknowledges(5);
  EXPECT_EQ(peer.send("m").error().code, ErrorCode::WouldBlock);
  peer.complete_all();
  EXPECT_TRUE(peer.send("m"));
}

TEST(Sending, refusesWhatNobodyTakes) {
  ScriptedPeer peer;
  EXPECT_EQ(peer.send(std::string(101, 'x')).error().code, ErrorCode::TooLarge);
  peer.greet();
  EXPECT_EQ(peer.send(std::string(65, 'x')).error().code, ErrorCode::TooLarge);
  EXPECT_TRUE(peer.send(std::string(64, 'x')));
  EXPECT_TRUE(peer.send(""));
}

TEST(Failover, sendsAgainInOrderWhatWasNotDelivered) {
  ScriptedPeer peer;
  peer.greet();
  for (const char* text : {"a", "b", "c", "d"}) (void)peer.send(text);
  peer.complete_all();
  peer.acknowledges(1);
  peer.take_down();
  EXPECT_EQ(peer.send("e"), 5U);
  peer.greet(2);
  EXPECT_THAT(peer.numbers(), ElementsAre(3)) << "others that come back have their turn";
  peer.acknowledges(3);
  EXPECT_THAT(peer.numbers(), ElementsAre(3, 4, 5));
  EXPECT_EQ(peer.session.stream().resent(), 2U);
  EXPECT_THAT(peer.log, Contains("acknowledged 2"));
  EXPECT_EQ(std::to_integer<char>(peer.sent[1].payload[0]), 'c');
}

TEST(Failover, onlyTheFirstOfALinkWaitsForItsAnswer) {
  ScriptedPeer peer;
  peer.greet();
  for (const char* text : {"a", "b"}) (void)peer.send(text);
  EXPECT_THAT(peer.numbers(), ElementsAre(1, 2)) << "the first link is no return";
  peer.take_down();
  peer.greet(0);
  peer.complete_all();
  EXPECT_EQ(peer.send("c"), 3U);
  EXPECT_THAT(peer.numbers(), ElementsAre(1)) << "that it was sent is no answer";
  peer.acknowledges(1);
  EXPECT_EQ(peer.send("d"), 4U);
  EXPECT_THAT(peer.numbers(), ElementsAre(1, 2, 3, 4));
}

TEST(Failover, aQueuePairAfterAnAttemptThatNeverCameUpHasItsReceives) {
  ScriptedPeer peer;
  peer.open();
  EXPECT_THAT(peer.receives, SizeIs(16));
  peer.receives.clear();  // with their queue pair; nobody says down() of what was never up
  peer.open();
  EXPECT_THAT(peer.receives, SizeIs(16));
  peer.session.link_up();
  peer.say_hello();
  EXPECT_THAT(peer.log, Contains("ready"));
}

TEST(Failover, whatWasHeldForAPausedApplicationIsNotDelivered) {
  ScriptedPeer peer;
  peer.greet();
  peer.session.pause();
  peer.says(1, "a");
  peer.take_down();
  peer.greet();
  EXPECT_EQ(peer.sent[0].header.acknowledged, 0U);
  peer.session.unpause();
  EXPECT_THAT(peer.delivered, IsEmpty());
  peer.says(1, "a");
  EXPECT_THAT(peer.delivered, ElementsAre("a"));
}

TEST(Failover, aDuplicateIsDroppedAndAcknowledged) {
  ScriptedPeer peer;
  peer.greet();
  peer.says(1, "a");
  peer.says(1, "a");
  EXPECT_THAT(peer.delivered, ElementsAre("a"));
  EXPECT_EQ(peer.session.counters().duplicates, 1U);
  peer.pass(2500us), peer.pass(2500us);
  EXPECT_EQ(peer.sent.back().header.acknowledged, 1U);
}

TEST(Failover, aLinkOnWhichNothingCanBePostedIsBroken) {
  ScriptedPeer peer;
  peer.greet();
  peer.refuses = true;
  EXPECT_EQ(peer.send("a"), 1U) << "it is kept";
  EXPECT_THAT(peer.breaks, SizeIs(1));
  peer.refuses = false;
  peer.take_down();
  peer.greet();
  EXPECT_THAT(peer.numbers(), ElementsAre(1));
}

TEST(Quiesce, acknowledgesPostsNothingMoreAndTellsWhenAllIsDone) {
  ScriptedPeer peer;
  peer.greet();
  peer.says(1, "a");
  (void)peer.send("b");
  peer.says(2, "c");
  peer.session.quiesce();
  EXPECT_EQ(peer.sent.back().header.acknowledged, 2U);
  const auto posted = peer.sent.size();
  EXPECT_TRUE(peer.send("d"));
  EXPECT_THAT(peer.sent, SizeIs(posted));
  EXPECT_THAT(peer.log, Not(Contains("drained")));
  peer.complete_all();
  EXPECT_THAT(peer.log, Contains("drained"));
  EXPECT_THAT(peer.sent, SizeIs(posted));
  peer.take_down();
  peer.greet(1);
  EXPECT_THAT(peer.numbers(), ElementsAre(2));
}

TEST(Goodbye, isSaidAfterEverythingAndFinishesWhenItIsHeard) {
  ScriptedPeer peer;
  peer.greet();
  (void)peer.send("a");
  ASSERT_TRUE(peer.session.finish());
  EXPECT_EQ(peer.send("b").error().code, ErrorCode::Gone);
  EXPECT_EQ(peer.sent.back().header.type, FrameType::Finish);
  EXPECT_EQ(peer.sent.back().header.number, 2U);
  peer.acknowledges(1);
  EXPECT_THAT(peer.log, Not(Contains("finished")));
  peer.acknowledges(2);
  EXPECT_THAT(peer.log, Contains("finished"));
  const auto end = peer.session.end({GoneReason::Closed, ""});
  EXPECT_EQ(end.acknowledged, (MessageRange{1, 1})) << "the goodbye is no message";
  EXPECT_EQ(end.unknown, (MessageRange{2, 1}));
}

TEST(Goodbye, waitsBehindWhatIsHeldAndIsAcknowledgedAtOnce) {
  ScriptedPeer peer;
  peer.greet();
  peer.session.pause();
  peer.says(1, "a");
  peer.arrives({FrameType::Finish, kVersion, 0, 2, 0, peer.credit}, {});
  EXPECT_FALSE(peer.session.has_peer_finished());
  peer.session.unpause();
  EXPECT_TRUE(peer.session.has_peer_finished());
  EXPECT_EQ(peer.sent.back().header.acknowledged, 2U);
}

TEST(Goodbye, thePeerHasLeftWhenItsDeviceHasTheAcknowledgement) {
  ScriptedPeer peer;
  peer.greet();
  peer.complete_all();
  (void)peer.send("a");
  peer.arrives({FrameType::Finish, kVersion, 0, 1, 0, peer.credit}, {});
  ASSERT_EQ(peer.sent.back().header.acknowledged, 1U);
  ASSERT_THAT(peer.uncompleted, SizeIs(2));
  peer.session.sent(peer.uncompleted[0]);
  EXPECT_FALSE(peer.session.has_peer_left()) << "the message went before the goodbye came";
  peer.session.sent(peer.uncompleted[1]);
  EXPECT_TRUE(peer.session.has_peer_left());
  peer.take_down();
  EXPECT_TRUE(peer.session.has_peer_left());
}

TEST(Goodbye, aPeerThatMayNotHaveItsAcknowledgementComesBackForIt) {
  ScriptedPeer peer;
  peer.greet();
  peer.arrives({FrameType::Finish, kVersion, 0, 1, 0, peer.credit}, {});
  peer.take_down();
  EXPECT_FALSE(peer.session.has_peer_left());
  peer.greet();
  EXPECT_FALSE(peer.session.has_peer_left());
  peer.complete_all();
  EXPECT_TRUE(peer.session.has_peer_left()) << "the new link's hello says it";
}

TEST(End, tellsTheThreeRanges) {
  ScriptedPeer peer;
  peer.greet();
  for (int i = 0; i < 14; ++i) (void)peer.send("m");  // 11 fit the credit
  peer.acknowledges(3);
  const auto end = peer.session.end({GoneReason::PeerRestarted, "x"});
  EXPECT_EQ(end.acknowledged, (MessageRange{1, 3}));
  EXPECT_EQ(end.unknown, (MessageRange{4, 11}));
  EXPECT_EQ(end.unsent, (MessageRange{12, 14}));
  EXPECT_EQ(peer.send("m").error().code, ErrorCode::Gone);
}

}  // namespace
}  // namespace rdmove::failover::channel::test
