// Event subscriptions: one per port at the administrator, its reports to every function that wants them.
#include <gtest/gtest.h>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

class SubscriptionTest : public testing::Test {
 protected:
  SubscriptionTest() : port_(options(), time_) {
    for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(port_.add_function(function(i), {gid_of(function(i))}));
  }
  Datagram asked() {
    const auto request = port_.to_wire();
    EXPECT_TRUE(request);
    EXPECT_FALSE(port_.to_wire()) << "two MADs";
    return request.value_or(Datagram{});
  }
  void subscribed(FunctionId of, const InformInfo& info) {
    const Verdict verdict = port_.from_function(of, inform_request(tid(1), info));
    if (verdict == Verdict::Waiting) port_.from_wire(accepted(asked()));
    const auto answer = port_.to_function(of);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->mad.status(), 0);
  }
  /// How many reports a function got; the port's ReportResp must have left, once.
  std::vector<std::size_t> reported(const Datagram& report) {
    port_.from_wire(report);
    const Datagram response = asked();
    EXPECT_EQ(response.mad.method(), Method::ReportResp);
    EXPECT_EQ(response.mad.transaction(), report.mad.transaction());
    EXPECT_EQ(response.remote, kSubnetManager);
    EXPECT_EQ(notice(response.mad), notice(report.mad));
    std::vector<std::size_t> got(4);
    for (unsigned i = 0; i < 4; ++i) {
      while (const auto one = port_.to_function(function(i))) {
        EXPECT_EQ(one->mad, report.mad);
        ++got[i];
      }
    }
    return got;
  }
  using Got = std::vector<std::size_t>;

  FakeTime time_;
  SharedPort port_;
};

TEST_F(SubscriptionTest, theFirstAsksTheSecondIsAnsweredHereTheLastOneEndsIt) {
  InformInfo mine = for_trap(64);
  mine.response_time = 18;
  mine.queue_pair = QueuePairNumber{0x4711};
  EXPECT_EQ(port_.from_function(function(1), inform_request(tid(11), mine)), Verdict::Waiting);
  const Datagram request = asked();
  EXPECT_TRUE(inform_info(request.mad).is_subscribe);
  EXPECT_EQ(inform_info(request.mad).queue_pair, kGeneralServicesQueuePair) << "of the port";
  port_.from_wire(accepted(request));
  const auto answer = port_.to_function(function(1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mad.transaction(), tid(11));
  EXPECT_EQ(inform_info(answer->mad), mine) << "as it was asked";

  EXPECT_EQ(port_.from_function(function(2), inform_request(tid(12), for_trap(64))), Verdict::AnsweredHere);
  EXPECT_EQ(port_.from_function(function(2), inform_request(tid(13), unsubscribed(for_trap(64)))),
            Verdict::AnsweredHere);
  EXPECT_FALSE(port_.to_wire());
  EXPECT_EQ(port_.subscriptions(), 1U);

  EXPECT_EQ(port_.from_function(function(1), inform_request(tid(14), unsubscribed(mine))), Verdict::Waiting);
  const Datagram end = asked();
  EXPECT_FALSE(inform_info(end.mad).is_subscribe);
  EXPECT_EQ(inform_info(end.mad).queue_pair, kGeneralServicesQueuePair);
  port_.from_wire(accepted(end));
  EXPECT_EQ(port_.subscriptions(), 0U);
}

TEST_F(SubscriptionTest, whatIsNotSubscribedCannotBeEnded) {
  subscribed(function(1), for_trap(64));
  EXPECT_EQ(port_.from_function(function(2), inform_request(tid(2), unsubscribed(for_trap(64)))),
            Verdict::AnsweredHere);
  const auto answer = port_.to_function(function(2));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mad.status(), 0x0200);
  EXPECT_FALSE(inform_info(answer->mad).is_subscribe);
}

TEST_F(SubscriptionTest, aSubscribeThatIsNeitherIsRefused) {
  Datagram request = inform_request(tid(2), for_trap(64));
  request.mad.set_field<kSaDataOffset + 23>(std::uint8_t{2});
  EXPECT_EQ(port_.from_function(function(1), request), Verdict::AnsweredHere);
  EXPECT_EQ(port_.to_function(function(1))->mad.status(), 0x0200);
}

TEST_F(SubscriptionTest, aReportReachesEverySubscriberAndIsAnsweredOnce) {
  subscribed(function(1), for_trap(64));
  subscribed(function(2), for_trap(64));
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 1, 1, 0}));
  // What the functions answer stays here.
  Datagram response = accepted(report(tid(5), gid_in_service(peer_gid())));
  EXPECT_EQ(port_.from_function(function(1), response), Verdict::Absorbed);
  EXPECT_EQ(port_.from_function(function(2), response), Verdict::Absorbed);
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(SubscriptionTest, aReportThatIsRepeatedIsAnsweredAgainAndToldOnce) {
  subscribed(function(1), for_trap(64));
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 1, 0, 0}));
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 0, 0, 0}))
      << "its ReportResp was lost";
  EXPECT_EQ(reported(report(tid(6), gid_in_service(peer_gid()))), (Got{0, 1, 0, 0})) << "it happened again";
}

TEST_F(SubscriptionTest, whoSubscribedOnceIsToldOnceHoweverManySubscriptionsThePortHas) {
  subscribed(function(1), for_trap(64));
  InformInfo all;
  subscribed(function(2), all);
  subscribed(function(3), all);
  subscribed(function(3), for_trap(64));
  EXPECT_EQ(port_.subscriptions(), 2U);
  // The administrator reports once for each of the two.
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 1, 1, 1}));
  EXPECT_EQ(reported(report(tid(6), gid_in_service(peer_gid()))), (Got{0, 0, 0, 1})) << "3 has two";
  // Trap 65 matches only one.
  Notice other = gid_in_service(peer_gid());
  other.trap_or_device = 65;
  EXPECT_EQ(reported(report(tid(7), other)), (Got{0, 0, 1, 1}));
}

TEST_F(SubscriptionTest, aCopyThatWasLostIsNotMissedForEver) {
  subscribed(function(1), for_trap(64));
  subscribed(function(2), InformInfo{});
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 1, 1, 0}));
  // The second copy is lost. Later the same thing happens again.
  time_.pass(ReportFanout::kWindow);
  EXPECT_EQ(reported(report(tid(8), gid_in_service(peer_gid()))), (Got{0, 1, 1, 0}));
}

TEST_F(SubscriptionTest, aReportThatNobodyWantsIsAnsweredAllTheSame) {
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 0, 0, 0}));
  subscribed(function(1), for_trap(65));
  EXPECT_EQ(reported(report(tid(6), gid_in_service(peer_gid()))), (Got{0, 0, 0, 0}));
}

TEST_F(SubscriptionTest, aReportOfSomebodyElseIsNone) {
  subscribed(function(1), for_trap(64));
  Datagram forged = report(tid(5), gid_in_service(peer_gid()));
  forged.remote = kPeer;
  EXPECT_EQ(port_.from_wire(forged), Verdict::NoMatch);
  EXPECT_FALSE(port_.to_function(function(1)));
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(SubscriptionTest, aReportWithAGrhNamesTheFunctionThatGetsIt) {
  subscribed(function(1), for_trap(64));
  subscribed(function(2), for_trap(64));
  port_.from_wire(with_grh(report(tid(5), gid_in_service(peer_gid())), Gid::from(kPrefix, 1), port_gid()));
  EXPECT_EQ(port_.to_function(function(1))->grh->destination, gid_of(function(1)));
  EXPECT_EQ(port_.to_function(function(2))->grh->destination, gid_of(function(2)));
  EXPECT_EQ(port_.to_wire()->grh->source, port_gid());
}

TEST_F(SubscriptionTest, whoLeavesIsNotToldAnyMore) {
  subscribed(function(1), for_trap(64));
  subscribed(function(2), for_trap(64));
  ASSERT_TRUE(port_.remove_function(function(1)));
  EXPECT_FALSE(port_.to_wire()) << "another still needs it";
  EXPECT_EQ(reported(report(tid(5), gid_in_service(peer_gid()))), (Got{0, 0, 1, 0}));
  ASSERT_TRUE(port_.remove_function(function(2)));
  EXPECT_FALSE(inform_info(asked().mad).is_subscribe);
}

TEST_F(SubscriptionTest, anotherSubnetManagerIsToldEverythingAgain) {
  subscribed(function(1), for_trap(64));
  port_.subnet_manager_changed(Lid{33}, 0);
  const Datagram again = asked();
  EXPECT_EQ(again.remote, Lid{33});
  EXPECT_TRUE(inform_info(again.mad).is_subscribe);
  port_.from_wire(accepted(again));
  EXPECT_EQ(port_.subscriptions(), 1U);
  EXPECT_FALSE(port_.next_event());
}

}  // namespace
}  // namespace rdmove::gsi::test
