// Multicast when something is amiss: an administrator that is silent, busy or new, functions that go, tables
// that are full.
#include "shadowdev/gsi/tests/multicast_fixture.hpp"

namespace rdmove::gsi::test {
namespace {

TEST_F(MulticastTest, anUnansweredRequestIsRepeatedAndThenForgotten) {
  port_.from_function(function(1), join(function(1), tid(1), group(1)));
  const Datagram first = asked();
  EXPECT_EQ(port_.next_deadline(), time_.now() + milliseconds{100});
  for (int i = 0; i < 2; ++i) {
    time_.pass(milliseconds{100});
    port_.tick();
    EXPECT_EQ(asked().mad, first.mad) << "the same number: a late answer to the first counts";
  }
  time_.pass(milliseconds{100});
  port_.tick();
  EXPECT_FALSE(port_.to_function(function(1))) << "its own time-out tells it";
  const Datagram undone = asked();
  EXPECT_EQ(undone.mad.method(), Method::Delete) << "only the answers may have been lost";
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(1), group(1))), Verdict::Waiting);
  port_.from_wire(refused(undone, SaStatus::RequestInvalid));
  port_.from_wire(granted(asked()));
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0);
}

TEST_F(MulticastTest, aBusyAdministratorIsAskedAgain) {
  port_.from_function(function(1), join(function(1), tid(1), group(1)));
  port_.from_wire(refused(asked(), SaStatus::Busy));
  EXPECT_FALSE(port_.to_function(function(1)));
  time_.pass(milliseconds{100});
  port_.tick();
  port_.from_wire(granted(asked()));
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0);
}

TEST_F(MulticastTest, aSilentAdministratorDoesNotKeepOneIn) {
  joined(function(1), group(1));
  port_.from_function(function(1), leave(function(1), tid(2), group(1)));
  for (int i = 0; i < 3; ++i) {
    port_.to_wire();
    time_.pass(milliseconds{100});
    port_.tick();
  }
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0);
  EXPECT_TRUE(port_.membership(group(1)).empty());
}

TEST_F(MulticastTest, oneThatWantsTooMuchIsBounded) {
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(1), group(1))), Verdict::Waiting);
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(2), group(2))), Verdict::Waiting);
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(3), group(3))), Verdict::OverQuota);
  EXPECT_EQ(port_.from_function(function(2), join(function(2), tid(3), group(3))), Verdict::Waiting)
      << "another may";
  while (const auto request = port_.to_wire()) port_.from_wire(granted(*request));
  joined(function(1), group(4));
  joined(function(1), group(5));
  while (port_.to_function(function(1))) {
  }
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(9), group(6))), Verdict::AnsweredHere);
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0x0100) << "no resources";
}

TEST_F(MulticastTest, aGroupThatTheAdministratorNamesIsSharedUnderThatName) {
  Datagram create = member_request(Method::Set, tid(1), test::member(function(1), Gid{}, kFullMember));
  EXPECT_EQ(port_.from_function(function(1), create), Verdict::Waiting);
  EXPECT_EQ(port_.from_function(function(1), create), Verdict::Waiting) << "its retry makes no second group";
  const Datagram request = asked();
  McMemberRecord named = member_record(request.mad);
  named.group = group(77);
  port_.from_wire(granted(request, named));
  EXPECT_EQ(member_record(answer_of(function(1)).mad).group, group(77));
  EXPECT_EQ(port_.from_function(function(2), join(function(2), tid(2), group(77))), Verdict::AnsweredHere);
  EXPECT_EQ(port_.membership(group(77)), kFullMember);
}

TEST_F(MulticastTest, aRecordOfAnotherGroupIsNoAnswer) {
  port_.from_function(function(1), join(function(1), tid(1), group(1)));
  const Datagram request = asked();
  McMemberRecord other = member_record(request.mad);
  other.group = group(2);
  port_.from_wire(granted(request, other));
  EXPECT_EQ(answer_of(function(1)).mad.status(), 0x0200);
  EXPECT_TRUE(port_.membership(group(1)).empty());
  EXPECT_TRUE(port_.membership(group(2)).empty());
}

TEST_F(MulticastTest, whoIsRemovedLeavesWhatOnlyHeNeeded) {
  joined(function(1), group(1));
  joined(function(1), group(2));
  joined(function(2), group(2));
  ASSERT_TRUE(port_.remove_function(function(1)));
  const Datagram request = asked();
  EXPECT_EQ(request.mad.method(), Method::Delete);
  EXPECT_EQ(member_record(request.mad).group, group(1));
  port_.from_wire(accepted(request));
  EXPECT_TRUE(port_.membership(group(1)).empty());
  EXPECT_EQ(port_.membership(group(2)), kFullMember);
}

TEST_F(MulticastTest, whoIsRemovedWhileHeAsksLeavesNoMembershipBehind) {
  port_.from_function(function(1), join(function(1), tid(1), group(1)));
  const Datagram request = asked();
  ASSERT_TRUE(port_.remove_function(function(1)));
  port_.from_wire(granted(request));
  const Datagram undone = asked();
  EXPECT_EQ(undone.mad.method(), Method::Delete);
  port_.from_wire(accepted(undone));
  EXPECT_TRUE(port_.membership(group(1)).empty());
}

TEST_F(MulticastTest, anotherSubnetManagerIsToldEverythingAgain) {
  McMemberRecord record = test::member(function(1), group(1), kFullMember);
  record.queue_key = 0x0B1B;
  port_.from_function(function(1), member_request(Method::Set, tid(1), record, member::kQueueKey));
  port_.from_wire(granted(asked()));
  answer_of(function(1));
  joined(function(2), group(1));
  port_.subnet_manager_changed(Lid{33}, 2);
  const Datagram again = asked();
  EXPECT_EQ(again.remote, Lid{33});
  EXPECT_EQ(again.service_level, 2);
  EXPECT_EQ(again.mad.method(), Method::Set);
  EXPECT_EQ(member_record(again.mad).queue_key, 0x0B1BU) << "with what a new group needs";
  EXPECT_NE(component_mask(again.mad) & member::kQueueKey, 0U);
  port_.from_wire(granted(again));
  EXPECT_FALSE(port_.to_function(function(1))) << "no function asked for this";
  EXPECT_FALSE(port_.next_event());
  EXPECT_EQ(port_.membership(group(1)), kFullMember);
}

TEST_F(MulticastTest, whatTheNewSubnetManagerMakesOfItIsTold) {
  joined(function(1), group(1));
  port_.subnet_manager_changed(Lid{33}, 0);
  Datagram again = asked();
  McMemberRecord moved = member_record(again.mad);
  moved.multicast_lid = 0xC0FE;
  port_.from_wire(granted(again, moved));
  auto event = port_.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->function, function(1));
  EXPECT_EQ(event->change, RecordChange::Changed);
  EXPECT_EQ(McMemberRecord::read(event->record).multicast_lid, 0xC0FE);

  port_.subnet_manager_changed(Lid{34}, 0);
  port_.from_wire(refused(asked(), SaStatus::RequestInvalid));
  event = port_.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->change, RecordChange::Lost);
  EXPECT_EQ(event->status, 0x0200);
  EXPECT_TRUE(port_.membership(group(1)).empty());
  EXPECT_EQ(port_.from_function(function(1), join(function(1), tid(5), group(1))), Verdict::Waiting)
      << "it can join again";
}

TEST_F(MulticastTest, noRoomForARequestIsWaitedFor) {
  PortOptions tight = small();
  tight.own_outstanding = 1;
  SharedPort port(tight, time_);
  for (unsigned i = 1; i < 4; ++i) {
    ASSERT_TRUE(port.add_function(function(i), {gid_of(function(i))}));
    EXPECT_EQ(port.from_function(function(i), join(function(i), tid(1), group(i))), Verdict::Waiting);
  }
  for (unsigned i = 1; i < 4; ++i) {
    const auto request = port.to_wire();
    ASSERT_TRUE(request) << i;
    EXPECT_EQ(member_record(request->mad).group, group(i)) << "in the order of asking";
    EXPECT_FALSE(port.to_wire());
    port.from_wire(granted(*request));
    EXPECT_TRUE(port.to_function(function(i)));
  }
}

}  // namespace
}  // namespace rdmove::gsi::test
