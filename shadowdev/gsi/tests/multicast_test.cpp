// Multicast: one membership per group and port at the administrator, whatever the functions do.
#include "shadowdev/gsi/tests/multicast_fixture.hpp"

namespace rdmove::gsi::test {
namespace {

TEST_F(MulticastTest, theFirstAsksAndTheSecondIsAnsweredHere) {
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(11), group(1))), Verdict::Waiting);
  const Datagram request = asked();
  EXPECT_EQ(request.remote, kSubnetManager);
  EXPECT_EQ(request.mad.method(), Method::Set);
  EXPECT_EQ(member_record(request.mad).port, port_gid()) << "the port is the member";
  EXPECT_EQ(Transactions::owner_of(request.mad.transaction()), kPortItself);
  EXPECT_EQ(port_.from_wire(granted(request)), Verdict::Absorbed);
  Datagram answer = answer_of(function(1));
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  EXPECT_EQ(answer.mad.transaction(), tid(11));
  EXPECT_EQ(member_record(answer.mad).port, gid_of(function(1))) << "the function sees itself";
  EXPECT_EQ(member_record(answer.mad).multicast_lid, 0xC001);

  EXPECT_EQ(port_.from_function(function(2), join(function(2), tid(11), group(1))), Verdict::AnsweredHere);
  EXPECT_FALSE(port_.to_wire());
  answer = answer_of(function(2));
  EXPECT_EQ(member_record(answer.mad).port, gid_of(function(2)));
  EXPECT_EQ(member_record(answer.mad).multicast_lid, 0xC001);
}

TEST_F(MulticastTest, theLastLeaveGoesOut) {
  joined(function(1), group(1));
  joined(function(2), group(1));
  EXPECT_EQ(port_.from_function(function(1), leave(function(1), tid(2), group(1))), Verdict::AnsweredHere);
  Datagram answer = answer_of(function(1));
  EXPECT_EQ(answer.mad.method(), Method::DeleteResp);
  EXPECT_TRUE(member_record(answer.mad).join_state.empty());
  EXPECT_FALSE(port_.to_wire());

  EXPECT_EQ(port_.from_function(function(2), leave(function(2), tid(3), group(1))), Verdict::Waiting);
  const Datagram request = asked();
  EXPECT_EQ(request.mad.method(), Method::Delete);
  EXPECT_EQ(member_record(request.mad).port, port_gid());
  EXPECT_EQ(member_record(request.mad).join_state, kFullMember);
  port_.from_wire(accepted(request));
  EXPECT_EQ(answer_of(function(2)).mad.transaction(), tid(3));
  EXPECT_TRUE(port_.membership(group(1)).empty());
}

TEST_F(MulticastTest, waysToBeAMemberAreCountedOneByOne) {
  joined(function(1), group(1), kFullMember);
  // Not covered: the port is a full member, not a send-only one.
  EXPECT_EQ(port_.from_function(function(2), join(function(2), tid(2), group(1), kSendOnlyNonMember)),
            Verdict::Waiting);
  const Datagram more = asked();
  EXPECT_EQ(member_record(more.mad).join_state, kSendOnlyNonMember);
  port_.from_wire(granted(more));
  EXPECT_EQ(member_record(answer_of(function(2)).mad).join_state, kSendOnlyNonMember);
  EXPECT_EQ(port_.membership(group(1)), kFullMember | kSendOnlyNonMember);
  // Covered both.
  EXPECT_EQ(
      port_.from_function(function(3), join(function(3), tid(2), group(1), kFullMember | kSendOnlyNonMember)),
      Verdict::AnsweredHere);
  // Of what 2 leaves, 3 still needs it; of what 1 leaves, too.
  EXPECT_EQ(port_.from_function(function(2), leave(function(2), tid(3), group(1), kSendOnlyNonMember)),
            Verdict::AnsweredHere);
  EXPECT_EQ(port_.from_function(function(1), leave(function(1), tid(3), group(1))), Verdict::AnsweredHere);
  EXPECT_EQ(port_.from_function(function(3), leave(function(3), tid(3), group(1), kFullMember)),
            Verdict::Waiting);
  EXPECT_EQ(member_record(asked().mad).join_state, kFullMember) << "and is send-only from here on";
}

TEST_F(MulticastTest, allFourWaysAreCarried) {
  for (const JoinState way : {kFullMember, kNonMember, kSendOnlyNonMember, kSendOnlyFullMember}) {
    EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(way.bits()), group(1), way)),
              Verdict::Waiting);
    const Datagram request = asked();
    EXPECT_EQ(member_record(request.mad).join_state, way);
    port_.from_wire(granted(request));
    answer_of(function(1));
  }
  EXPECT_EQ(port_.membership(group(1)).bits(), 0x0F);
}

TEST_F(MulticastTest, whatIsNotHeldCannotBeLeft) {
  joined(function(1), group(1));
  EXPECT_EQ(port_.from_function(function(2), leave(function(2), tid(2), group(1))), Verdict::AnsweredHere);
  EXPECT_EQ(answer_of(function(2)).mad.status(), 0x0200);
  EXPECT_EQ(port_.from_function(function(1), leave(function(1), tid(2), group(1), kFullMember | kNonMember)),
            Verdict::AnsweredHere);
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0x0200);
  EXPECT_EQ(port_.membership(group(1)), kFullMember);
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(MulticastTest, noFunctionJoinsForAnother) {
  EXPECT_EQ(port_.from_function(function(1), join(function(2), tid(2), group(1))), Verdict::AnsweredHere);
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0x0500) << "invalid GID";
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(MulticastTest, aRequestThatLacksWhatItNeedsIsRefusedHere) {
  const auto status = [&](std::uint64_t mask, McMemberRecord record, Method method = Method::Set) {
    Datagram request = member_request(method, tid(2), record);
    set_component_mask(request.mad, mask);
    EXPECT_EQ(port_.from_function(function(1), request), Verdict::AnsweredHere);
    return answer_of(function(1)).mad.status();
  };
  const McMemberRecord good = test::member(function(1), group(1), kFullMember);
  EXPECT_EQ(status(member::kGroup | member::kJoinState, good), 0x0600);
  EXPECT_EQ(status(member::kGroup | member::kPort, good), 0x0600);
  EXPECT_EQ(status(member::kPort | member::kJoinState, good, Method::Delete), 0x0600);
  const std::uint64_t all = member::kGroup | member::kPort | member::kJoinState;
  EXPECT_EQ(status(all, test::member(function(1), group(1), JoinState{})), 0x0200);
  EXPECT_EQ(status(all, test::member(function(1), peer_gid(), kFullMember)), 0x0200) << "no multicast GID";
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(MulticastTest, whatTheGroupIsNotIsRefusedHere) {
  McMemberRecord record = test::member(function(1), group(1), kFullMember);
  record.queue_key = 0x0B1B;
  record.mtu = 4;
  record.mtu_selector = 2;
  const std::uint64_t more = member::kQueueKey | member::kMtuSelector | member::kMtu;
  port_.from_function(function(1), member_request(Method::Set, tid(1), record, more));
  port_.from_wire(granted(asked()));
  answer_of(function(1));
  const auto status = [&](auto change) {
    McMemberRecord wanted = record;
    wanted.port = gid_of(function(2));
    change(wanted);
    EXPECT_EQ(port_.from_function(function(2), member_request(Method::Set, tid(2), wanted, more)),
              Verdict::AnsweredHere);
    return answer_of(function(2)).mad.status();
  };
  EXPECT_EQ(status([](McMemberRecord& r) { r.queue_key = 1; }), 0x0200);
  EXPECT_EQ(status([](McMemberRecord& r) { r.mtu = 5; }), 0x0200) << "exactly 4096";
  EXPECT_EQ(status([](McMemberRecord& r) { r.mtu = 4, r.mtu_selector = 0; }), 0x0200) << "more than 2048";
  EXPECT_EQ(status([](McMemberRecord& r) { r.mtu = 3, r.mtu_selector = 0; }), 0) << "more than 1024";
  EXPECT_EQ(status([](McMemberRecord& r) { r.mtu = 5, r.mtu_selector = 1; }), 0) << "less than 4096";
  EXPECT_EQ(status([](McMemberRecord& r) { r.mtu = 1, r.mtu_selector = 3; }), 0) << "the largest there is";
}

TEST_F(MulticastTest, aRefusalOfTheAdministratorReachesTheOneWhoAsked) {
  port_.from_function(function(1), join(function(1), tid(1), group(1)));
  port_.from_function(function(2), join(function(2), tid(2), group(1)));
  port_.from_wire(refused(asked(), SaStatus::RequestInvalid));
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0x0200);
  EXPECT_FALSE(port_.to_function(function(2))) << "its own may be granted";
  port_.from_wire(granted(asked()));
  EXPECT_EQ(answer_of(function(2)).mad.status(), 0);
}

TEST_F(MulticastTest, whileOneIsUnderWayOthersWaitInOrder) {
  port_.from_function(function(1), join(function(1), tid(1), group(1)));
  const Datagram request = asked();
  EXPECT_EQ(port_.from_function(function(2), join(function(2), tid(2), group(1))), Verdict::Waiting);
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(1), group(1))), Verdict::Waiting)
      << "its retry";
  EXPECT_FALSE(port_.to_wire());
  port_.from_wire(granted(request));
  EXPECT_EQ(answer_of(function(1)).mad.transaction(), tid(1));
  EXPECT_EQ(answer_of(function(2)).mad.transaction(), tid(2));
  EXPECT_FALSE(port_.to_function(function(1))) << "one answer for request and retry";
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(MulticastTest, aJoinBehindTheLastLeaveAsksAgain) {
  joined(function(1), group(1));
  port_.from_function(function(1), leave(function(1), tid(2), group(1)));
  const Datagram leaving = asked();
  EXPECT_EQ(port_.from_function(function(2), join(function(2), tid(3), group(1))), Verdict::Waiting)
      << "the port is about to be out";
  port_.from_wire(accepted(leaving));
  const Datagram again = asked();
  EXPECT_EQ(again.mad.method(), Method::Set);
  port_.from_wire(granted(again));
  EXPECT_EQ(answer_of(function(2)).mad.status(), 0);
  EXPECT_EQ(port_.membership(group(1)), kFullMember);
}

}  // namespace
}  // namespace rdmove::gsi::test
