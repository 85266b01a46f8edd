// Regions and one-sided operations: order, failover, and what the peer's table allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guestagent/failover/channel/tests/scripted_peer.hpp"

namespace rdmove::failover::channel::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class OneSidedTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(peer.session.add_region("own", 0x10000, 1000, RegionAccess::Local));
    greet();
  }
  void greet(std::uint64_t delivered = 0, std::uint32_t key = 7) {
    peer.greet(delivered, {64, 16, 16, 2});
    peer.shows(region(0, "both", 100, key));
    RegionFrame read_only = region(1, "read", 100, key);
    read_only.writable = false;
    peer.shows(read_only);
  }
  static RegionFrame region(std::uint8_t place, std::string_view name, std::uint64_t length,
                            std::uint32_t key) {
    return {place, true, true, true, true, key, 0x4000, length, *RegionName::from(name)};
  }
  Result<void> write(std::string_view to, std::size_t offset, std::size_t length) {
    return peer.session.one_sided(OperationKind::Write, {"own", 0, length}, to, offset, note("write"));
  }
  Result<void> read(std::string_view from, std::size_t offset, std::size_t length) {
    return peer.session.one_sided(OperationKind::Read, {"own", 0, length}, from, offset, note("read"));
  }
  OneSidedDone note(std::string what) {
    return [this, what](const Result<void>& result) {
      done.push_back(what +
                     (result ? " done" : " error " + std::to_string(static_cast<int>(result.error().code))));
    };
  }
  ScriptedPeer peer;
  std::vector<std::string> done;
};

TEST_F(OneSidedTest, goesToThePeersMemoryWithItsKey) {
  ASSERT_TRUE(write("both", 10, 20));
  ASSERT_THAT(peer.one_sided, SizeIs(1));
  EXPECT_EQ(peer.one_sided[0].work.remote_address, 0x400aU);
  EXPECT_EQ(peer.one_sided[0].work.remote_key, 7U);
  EXPECT_EQ(peer.one_sided[0].work.length, 20U);
  EXPECT_THAT(done, IsEmpty());
  peer.complete_all();
  EXPECT_THAT(done, ElementsAre("write done"));
}

TEST_F(OneSidedTest, asksForTheRightsAndBoundsThatThePeerShows) {
  EXPECT_EQ(write("none", 0, 1).error().code, ErrorCode::NoSuchRegion);
  EXPECT_EQ(write("read", 0, 1).error().code, ErrorCode::OutOfBounds);
  EXPECT_TRUE(read("read", 0, 1));
  EXPECT_EQ(write("both", 90, 11).error().code, ErrorCode::OutOfBounds);
  EXPECT_EQ(write("both", 101, 0).error().code, ErrorCode::OutOfBounds);
  EXPECT_EQ(write("both", SIZE_MAX, 2).error().code, ErrorCode::OutOfBounds);
  EXPECT_TRUE(write("both", 90, 10));
}

TEST_F(OneSidedTest, asksForALocalRegionOfThisSide) {
  const auto from = [&](const LocalPart& part) {
    return peer.session.one_sided(OperationKind::Write, part, "both", 0, {}).error().code;
  };
  EXPECT_EQ(from({"other", 0, 1}), ErrorCode::NoSuchRegion);
  EXPECT_EQ(from({"own", 999, 2}), ErrorCode::OutOfBounds);
  EXPECT_EQ(from({"own", SIZE_MAX, 2}), ErrorCode::OutOfBounds);
}

TEST_F(OneSidedTest, aWriteBeforeADeliveredMessageIsDoneAndIsNotDoneAgain) {
  ASSERT_TRUE(write("both", 0, 1));
  ASSERT_TRUE(peer.send("m"));
  ASSERT_TRUE(write("both", 0, 2));
  peer.take_down();
  EXPECT_THAT(done, IsEmpty());
  greet(1, 8);
  EXPECT_THAT(done, ElementsAre("write done"));
  ASSERT_THAT(peer.one_sided, SizeIs(1));
  EXPECT_EQ(peer.one_sided[0].work.length, 2U);
  EXPECT_EQ(peer.one_sided[0].work.remote_key, 8U) << "the key is the new link's";
}

TEST_F(OneSidedTest, aReadBeforeADeliveredMessageIsDoneAgain) {
  ASSERT_TRUE(read("both", 0, 1));
  ASSERT_TRUE(peer.send("m"));
  peer.take_down();
  greet(1);
  EXPECT_THAT(peer.one_sided, SizeIs(1)) << "the peer executed it, but its data may never have come";
}

TEST_F(OneSidedTest, aWriteWhoseCompletionCameIsNotDoneAgain) {
  ASSERT_TRUE(write("both", 0, 1));
  ASSERT_TRUE(peer.send("m"));
  peer.complete_all();
  peer.take_down();
  greet(0);
  EXPECT_THAT(peer.one_sided, IsEmpty());
  EXPECT_THAT(peer.numbers(), ElementsAre(1));
}

TEST_F(OneSidedTest, failsWhenTheRegionIsNotShownAnyMoreAfterAFailover) {
  ASSERT_TRUE(write("both", 0, 1));
  ASSERT_TRUE(peer.send("m"));
  peer.take_down();
  peer.greet(0);
  EXPECT_THAT(done, ElementsAre("write error 6"));
  EXPECT_THAT(peer.numbers(), ElementsAre(1)) << "what follows goes on";
}

TEST_F(OneSidedTest, isBoundedLikeMessages) {
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(write("both", 0, 1));
  EXPECT_EQ(write("both", 0, 1).error().code, ErrorCode::WouldBlock);
  peer.complete_all();
  EXPECT_THAT(peer.log, Contains("writable"));
  EXPECT_TRUE(write("both", 0, 1));
}

TEST_F(OneSidedTest, aRegionInUseIsNotWithdrawn) {
  ASSERT_TRUE(write("both", 0, 1));
  EXPECT_EQ(peer.session.remove_region("own").error().code, ErrorCode::WouldBlock);
  peer.complete_all();
  EXPECT_TRUE(peer.session.remove_region("own"));
}

TEST_F(OneSidedTest, theEndAnswersWhatIsLeft) {
  ASSERT_TRUE(write("both", 0, 1));
  ASSERT_TRUE(peer.send("m"));
  ASSERT_TRUE(write("both", 0, 1));
  peer.acknowledges(1);
  (void)peer.session.end({GoneReason::TimedOut, ""});
  EXPECT_THAT(done, ElementsAre("write done", "write error 5"));
}

TEST_F(OneSidedTest, followsWhatThePeerShowsAndWithdraws) {
  RegionFrame more = region(5, "more", 10, 3);
  more.initial = false;
  peer.shows(more);
  EXPECT_THAT(peer.log, Contains("regions"));
  EXPECT_TRUE(write("more", 0, 10));
  more.shown = false;
  peer.shows(more);
  EXPECT_EQ(write("more", 0, 10).error().code, ErrorCode::NoSuchRegion);
}

TEST(Regions, areToldAfterTheHelloWithThisLinksKeysAndBeforeMessages) {
  ScriptedPeer peer;
  ASSERT_TRUE(peer.session.add_region("a", 0x1000, 10, RegionAccess::RemoteRead));
  ASSERT_TRUE(peer.session.add_region("b", 0x2000, 10, RegionAccess::Local));
  peer.greet();
  (void)peer.send("m");
  ASSERT_THAT(peer.sent, SizeIs(3));
  EXPECT_EQ(peer.sent[1].header.type, FrameType::Region);
  const auto told = read_region(peer.sent[1].payload);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->name.text(), "a");
  EXPECT_EQ(told->key, 500U);
  EXPECT_TRUE(told->initial && told->readable && !told->writable);
}

TEST(Regions, haveNamesOnceAndRoomFor64) {
  ScriptedPeer peer;
  EXPECT_EQ(peer.session.add_region("", 1, 1, RegionAccess::Local).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(peer.session.add_region(std::string(33, 'n'), 1, 1, RegionAccess::Local).error().code,
            ErrorCode::InvalidArgument);
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(peer.session.add_region("r" + std::to_string(i), 1, 1, RegionAccess::RemoteRead));
  }
  EXPECT_EQ(peer.session.add_region("r0", 1, 1, RegionAccess::Local).error().code, ErrorCode::Exists);
  EXPECT_EQ(peer.session.add_region("one more", 1, 1, RegionAccess::Local).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(peer.session.remove_region("none").error().code, ErrorCode::NoSuchRegion);
}

}  // namespace
}  // namespace rdmove::failover::channel::test
