// A link that is not the first: what stands for the hellos, and what waits for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guestagent/failover/channel/tests/scripted_peer.hpp"

namespace rdmove::failover::channel::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(GreetedInCalls, aLinkGoesOnWithoutHellos) {
  ScriptedPeer peer;
  peer.greet();
  for (const char* text : {"a", "b"}) (void)peer.send(text);
  peer.says(1, "x");
  peer.take_down();
  peer.log.clear();
  peer.come_back(1);
  EXPECT_EQ(peer.said, (Greeting{0, 16, 1}));
  EXPECT_EQ(peer.count(FrameType::Hello), 0U);
  EXPECT_THAT(peer.numbers(), ElementsAre(2)) << "what was delivered does not go again";
  EXPECT_EQ(peer.sent[0].header.credit, 16U);
  EXPECT_THAT(peer.log, ElementsAre("ready", "acknowledged 1"));
  peer.says(2, "y", 2);
  EXPECT_THAT(peer.delivered, ElementsAre("x", "y"));
  EXPECT_THAT(peer.breaks, IsEmpty());
}

TEST(GreetedInCalls, regionsComeFirstAsAlways) {
  ScriptedPeer peer;
  peer.greet();
  (void)peer.session.add_region("r", 4096, 64, RegionAccess::RemoteRead);
  peer.session.tell_regions();
  (void)peer.send("a");
  peer.take_down();
  peer.come_back(0, 1);
  EXPECT_EQ(peer.said->regions, 1U);
  EXPECT_EQ(peer.count(FrameType::Region), 1U);
  EXPECT_THAT(peer.numbers(), IsEmpty()) << "the peer's are not told yet";
  RegionFrame region;
  region.shown = region.initial = true;
  region.name = *RegionName::from("theirs");
  peer.shows(region);
  EXPECT_THAT(peer.numbers(), ElementsAre(1));
}

TEST(GreetedInCalls, whoHasNotMetThePeerSaysHello) {
  ScriptedPeer peer;
  peer.come_back(0);
  EXPECT_FALSE(peer.said);
  EXPECT_EQ(peer.count(FrameType::Hello), 1U);
}

TEST(GreetedInCalls, whoHasNotGreetedIsNotGreeted) {
  ScriptedPeer peer;
  peer.greet();
  peer.take_down();
  peer.open();
  peer.session.link_up(Greeting{0, 16, 0});
  EXPECT_EQ(peer.count(FrameType::Hello), 1U) << "the peer waits for it";
  peer.say_hello();
  EXPECT_THAT(peer.breaks, IsEmpty());
}

// The message would not be counted, and goes again after the writes before it: see "The life of a link".
TEST(GreetedInCalls, nothingIsSaidFromInsideADelivery) {
  ScriptedPeer peer;
  peer.greet();
  peer.on_received = [&] {
    peer.take_down();
    peer.open();
    EXPECT_FALSE(peer.session.greeting());
  };
  peer.says(1, "a");
  EXPECT_THAT(peer.delivered, ElementsAre("a"));
  peer.session.link_up();
  EXPECT_EQ(peer.sent.at(0).header.type, FrameType::Hello);
  EXPECT_EQ(peer.sent.at(0).header.acknowledged, 1U);
}

TEST(GreetedInCalls, whoHasHeardAGoodbyeSaysHello) {
  ScriptedPeer peer;
  peer.greet();
  peer.arrives({FrameType::Finish, kVersion, 0, 1, 0, 16}, {});
  peer.take_down();
  peer.open();
  EXPECT_FALSE(peer.session.greeting()) << "its completion tells that the peer may go";
}

TEST(GreetedInCalls, whatIsHeldForAPausedApplicationIsNotCounted) {
  ScriptedPeer peer;
  peer.greet();
  peer.session.pause();
  peer.says(1, "a");
  peer.take_down();
  peer.come_back(0);
  EXPECT_EQ(peer.said->delivered, 0U);
  peer.session.unpause();
  EXPECT_THAT(peer.delivered, IsEmpty());
  peer.says(1, "a");
  EXPECT_THAT(peer.delivered, ElementsAre("a"));
}

TEST(GreetedInCalls, writesBeforeWhatIsCountedAreDone) {
  ScriptedPeer peer;
  peer.greet(0, {64, 16, 16, 1});
  RegionFrame region;
  region.shown = region.initial = region.writable = true;
  region.length = 64;
  region.name = *RegionName::from("theirs");
  peer.shows(region);
  (void)peer.session.add_region("own", 4096, 64, RegionAccess::Local);
  int done = 0;
  (void)peer.session.one_sided(OperationKind::Write, {"own", 0, 8}, "theirs", 0,
                               [&](const Result<void>& result) { done += result ? 1 : 100; });
  (void)peer.send("a");
  peer.take_down();
  EXPECT_EQ(done, 0);
  peer.come_back(1);
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace rdmove::failover::channel::test
