// Connection management over a shared port, both strategies: who gets which message, and with which comm_ids
// in it.
#include <gtest/gtest.h>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

constexpr CommId kNone{0};

PortOptions with(CmStrategy strategy) {
  PortOptions all = options();
  all.cm = strategy;
  all.connections.connections_per_function = 4;
  all.connections.setup = milliseconds{1000};
  all.connections.closing = milliseconds{500};
  return all;
}

class CmTest : public testing::Test {
 protected:
  explicit CmTest(CmStrategy strategy) : port_(with(strategy), time_) {
    for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(port_.add_function(function(i), {gid_of(function(i))}));
  }
  Datagram sent_by(FunctionId from, const Datagram& datagram) {
    EXPECT_EQ(port_.from_function(from, datagram), Verdict::ToWire);
    return port_.to_wire().value_or(Datagram{});
  }
  Datagram got_by(FunctionId to, const Datagram& datagram) {
    EXPECT_EQ(port_.from_wire(datagram), Verdict::ToFunction);
    const auto next = port_.to_functions();
    EXPECT_TRUE(next);
    if (!next) return {};
    EXPECT_EQ(next->owner, to);
    EXPECT_FALSE(port_.to_functions()) << "only one gets it";
    return next->datagram;
  }

  FakeTime time_;
  SharedPort port_;
};

class CmByGidTest : public CmTest {
 protected:
  CmByGidTest() : CmTest(CmStrategy::ByGid) {}
};

TEST_F(CmByGidTest, everyMessageIsSortedByItsGrh) {
  for (const auto type : {CmMessageType::Req, CmMessageType::Rep, CmMessageType::Rtu, CmMessageType::Dreq,
                          CmMessageType::SidrReq, CmMessageType::SidrRep}) {
    const Datagram message = with_grh(cm(type, CommId{5}, CommId{6}), peer_gid(), gid_of(function(2)));
    EXPECT_EQ(got_by(function(2), message), message) << "and nothing is changed in it";
  }
  EXPECT_EQ(port_.from_wire(with_grh(cm(CmMessageType::Req, CommId{5}), peer_gid(), port_gid())),
            Verdict::NoFunction);
}

TEST_F(CmByGidTest, withoutAGrhNothingPasses) {
  const Datagram message = req(CommId{5}, gid_of(function(1)), peer_gid());
  EXPECT_EQ(port_.from_function(function(1), message), Verdict::NoGrh);
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Rep, CommId{5}, CommId{6})), Verdict::NoGrh);
  EXPECT_EQ(sent_by(function(1), with_grh(message, gid_of(function(1)), peer_gid())).mad, message.mad);
}

TEST_F(CmByGidTest, nothingIsKept) {
  sent_by(function(1),
          with_grh(req(CommId{5}, gid_of(function(1)), peer_gid()), gid_of(function(1)), peer_gid()));
  EXPECT_EQ(port_.next_deadline(), std::nullopt);
  EXPECT_TRUE(port_.take_out(function(1))->connections.empty());
}

class CmByCommIdTest : public CmTest {
 protected:
  CmByCommIdTest() : CmTest(CmStrategy::ByCommId) {}
  /// A function's connection up to its RTU. Returns its number on the wire.
  CommId connected(FunctionId of, CommId local, CommId peer) {
    const CommId on_wire = first_comm_id(sent_by(of, req(local, gid_of(of), peer_gid())));
    got_by(of, cm(CmMessageType::Rep, peer, on_wire));
    sent_by(of, cm(CmMessageType::Rtu, local, peer));
    return on_wire;
  }
};

TEST_F(CmByCommIdTest, oneNumberOfTwoGuestsIsTwoOnTheWire) {
  const CommId same{42};
  const Datagram first = sent_by(function(1), req(same, gid_of(function(1)), peer_gid()));
  const Datagram second = sent_by(function(2), req(same, gid_of(function(2)), peer_gid()));
  EXPECT_NE(first_comm_id(first), first_comm_id(second));

  const Datagram answer = got_by(function(2), cm(CmMessageType::Rep, CommId{900}, first_comm_id(second)));
  EXPECT_EQ(second_comm_id(answer), same);
  EXPECT_EQ(first_comm_id(answer), CommId{900}) << "the peer's own number stays";
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Rej, kNone, first_comm_id(first)))), same);
}

TEST_F(CmByCommIdTest, aWholeConnectionFromHere) {
  const CommId on_wire = connected(function(1), CommId{7}, CommId{900});
  // Much later: nothing of it has a time limit.
  time_.pass(std::chrono::hours{24});
  port_.tick();
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Lap, CommId{900}, on_wire))), CommId{7});
  EXPECT_EQ(first_comm_id(sent_by(function(1), cm(CmMessageType::Apr, CommId{7}, CommId{900}))), on_wire);
  EXPECT_EQ(first_comm_id(sent_by(function(1), cm(CmMessageType::Dreq, CommId{7}, CommId{900}))), on_wire);
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Drep, CommId{900}, on_wire))), CommId{7});
  // Late repeats still arrive; then it is over.
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Dreq, CommId{900}, on_wire))), CommId{7});
  time_.pass(milliseconds{500});
  port_.tick();
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Dreq, CommId{900}, on_wire)), Verdict::NoMatch);
  EXPECT_EQ(port_.next_deadline(), std::nullopt);
}

TEST_F(CmByCommIdTest, aWholeConnectionToHere) {
  const Datagram request = req(CommId{900}, peer_gid(), gid_of(function(2)));
  EXPECT_EQ(got_by(function(2), request), request) << "sorted by the GID in it";
  const Datagram wait = sent_by(function(2), cm(CmMessageType::Mra, CommId{7}, CommId{900}));
  const Datagram reply = sent_by(function(2), cm(CmMessageType::Rep, CommId{7}, CommId{900}));
  EXPECT_EQ(first_comm_id(wait), first_comm_id(reply));
  EXPECT_EQ(second_comm_id(reply), CommId{900});
  EXPECT_EQ(second_comm_id(got_by(function(2), cm(CmMessageType::Rtu, CommId{900}, first_comm_id(reply)))),
            CommId{7});
  EXPECT_EQ(second_comm_id(got_by(function(2), cm(CmMessageType::Dreq, CommId{900}, first_comm_id(reply)))),
            CommId{7});
  EXPECT_EQ(first_comm_id(sent_by(function(2), cm(CmMessageType::Drep, CommId{7}, CommId{900}))),
            first_comm_id(reply));
}

TEST_F(CmByCommIdTest, aLostRtuDoesNotEndAConnection) {
  got_by(function(2), req(CommId{900}, peer_gid(), gid_of(function(2))));
  const CommId on_wire = first_comm_id(sent_by(function(2), cm(CmMessageType::Rep, CommId{7}, CommId{900})));
  time_.pass(std::chrono::hours{24});
  port_.tick();
  EXPECT_EQ(second_comm_id(got_by(function(2), cm(CmMessageType::Dreq, CommId{900}, on_wire))), CommId{7});
}

TEST_F(CmByCommIdTest, aRetryKeepsItsNumberAndAnswersToUnansweredRequestsEnd) {
  const Datagram request = req(CommId{7}, gid_of(function(1)), peer_gid());
  const CommId on_wire = first_comm_id(sent_by(function(1), request));
  time_.pass(milliseconds{900});
  EXPECT_EQ(first_comm_id(sent_by(function(1), request)), on_wire);
  time_.pass(milliseconds{900});
  port_.tick();
  got_by(function(1), cm(CmMessageType::Mra, CommId{900}, on_wire));
  time_.pass(milliseconds{1000});
  port_.tick();
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Rep, CommId{900}, on_wire)), Verdict::NoMatch);
}

TEST_F(CmByCommIdTest, aRejectOfOneWhoHeardNothingIsSortedByItsOwnNumber) {
  got_by(function(2), req(CommId{900}, peer_gid(), gid_of(function(2))));
  got_by(function(2), cm(CmMessageType::Rej, CommId{900}, kNone));
  Datagram other = cm(CmMessageType::Rej, CommId{900}, kNone);
  other.remote = Lid{77};
  EXPECT_EQ(port_.from_wire(other), Verdict::NoMatch) << "the number is another host's";
}

TEST_F(CmByCommIdTest, aRejectThatCouldBeForTwoIsNobodys) {
  got_by(function(1), req(CommId{900}, peer_gid(), gid_of(function(1))));
  got_by(function(2), req(CommId{900}, peer_gid(), gid_of(function(2))));
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Rej, CommId{900}, kNone)), Verdict::NoMatch);
}

TEST_F(CmByCommIdTest, aRejectWithoutANumberOfOursLeavesWithNone) {
  got_by(function(2), req(CommId{900}, peer_gid(), gid_of(function(2))));
  const Datagram reject = sent_by(function(2), cm(CmMessageType::Rej, CommId{7}, CommId{900}));
  EXPECT_EQ(first_comm_id(reject), kNone) << "7 may be somebody's number on the wire";
  EXPECT_EQ(second_comm_id(reject), CommId{900});
}

TEST_F(CmByCommIdTest, serviceIdResolution) {
  const Datagram asked = sent_by(function(1), cm(CmMessageType::SidrReq, CommId{7}));
  EXPECT_NE(first_comm_id(asked), CommId{7});
  EXPECT_EQ(first_comm_id(got_by(function(1), cm(CmMessageType::SidrRep, first_comm_id(asked)))), CommId{7});
  // A RequestID and a comm_id are different things.
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Rep, CommId{900}, first_comm_id(asked))), Verdict::NoMatch);

  got_by(function(2), with_grh(cm(CmMessageType::SidrReq, CommId{8}), peer_gid(), gid_of(function(2))));
  got_by(kPhysicalFunction, cm(CmMessageType::SidrReq, CommId{8}));
  EXPECT_EQ(first_comm_id(sent_by(function(2), cm(CmMessageType::SidrRep, CommId{8}))), CommId{8})
      << "it names the number of the one who asked";
}

TEST_F(CmByCommIdTest, aForeignGidInsideIsRefused) {
  EXPECT_EQ(port_.from_function(function(1), req(CommId{7}, gid_of(function(2)), peer_gid())),
            Verdict::ForeignGid);
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(CmByCommIdTest, messagesOfConnectionsThatAreNotThereGoNowhere) {
  EXPECT_EQ(port_.from_function(function(1), cm(CmMessageType::Rtu, CommId{7}, CommId{900})),
            Verdict::NoMatch);
  EXPECT_EQ(port_.from_function(function(1), cm(CmMessageType::Dreq, CommId{7}, CommId{900})),
            Verdict::NoMatch);
  const CommId on_wire = connected(function(1), CommId{7}, CommId{900});
  EXPECT_EQ(port_.from_function(function(2), cm(CmMessageType::Dreq, CommId{7}, CommId{900})),
            Verdict::NoMatch);
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Dreq, CommId{901}, on_wire)), Verdict::NoMatch)
      << "not its peer";
  EXPECT_EQ(port_.from_wire(req(CommId{1}, peer_gid(), port_gid())), Verdict::NoFunction);
}

TEST_F(CmByCommIdTest, aNumberThatAGuestUsesAgainIsAnotherConnection) {
  const CommId first = connected(function(1), CommId{7}, CommId{900});
  sent_by(function(1), cm(CmMessageType::Dreq, CommId{7}, CommId{900}));
  const CommId second = first_comm_id(sent_by(function(1), req(CommId{7}, gid_of(function(1)), peer_gid())));
  EXPECT_NE(first, second);
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Drep, CommId{900}, first)), Verdict::NoMatch);
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Rep, CommId{901}, second))), CommId{7});
}

TEST_F(CmByCommIdTest, aFullTableGivesUpWhatIsHalfOpenAndNeverWhatIsUp) {
  for (unsigned i = 0; i < 3; ++i) connected(function(1), CommId{i}, CommId{900 + i});
  const CommId half = first_comm_id(sent_by(function(1), req(CommId{3}, gid_of(function(1)), peer_gid())));
  const CommId next = first_comm_id(sent_by(function(1), req(CommId{4}, gid_of(function(1)), peer_gid())));
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Rep, CommId{904}, half)), Verdict::NoMatch);
  got_by(function(1), cm(CmMessageType::Rep, CommId{904}, next));
  sent_by(function(1), cm(CmMessageType::Rtu, CommId{4}, CommId{904}));
  EXPECT_EQ(port_.from_function(function(1), req(CommId{5}, gid_of(function(1)), peer_gid())),
            Verdict::OverQuota);
  EXPECT_EQ(port_.from_function(function(2), req(CommId{5}, gid_of(function(2)), peer_gid())),
            Verdict::ToWire)
      << "another's table is its own";
}

TEST_F(CmByCommIdTest, aStormOfRequestsFromOutsideCostsNoConnection) {
  const CommId on_wire = connected(function(1), CommId{7}, CommId{900});
  for (unsigned i = 0; i < 100; ++i) {
    port_.from_wire(req(CommId{1000 + i}, peer_gid(), gid_of(function(1))));
    port_.to_functions();
  }
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Dreq, CommId{900}, on_wire))), CommId{7});
}

TEST_F(CmByCommIdTest, twoWithOneNumberOnTheWireAreToldApartByTheirPeers) {
  // One of them came from another port, which drew the same number.
  const CommId here = connected(function(1), CommId{7}, CommId{900});
  FunctionState arrived;
  arrived.connections.push_back(
      {CommId{8}, here, CommId{901}, Lid{77}, CmPhase::Established, false, std::nullopt});
  ASSERT_TRUE(port_.put_in(function(9), {gid_of(function(9))}, arrived));
  Datagram message = cm(CmMessageType::Dreq, CommId{901}, here);
  message.remote = Lid{77};
  EXPECT_EQ(second_comm_id(got_by(function(9), message)), CommId{8});
  EXPECT_EQ(second_comm_id(got_by(function(1), cm(CmMessageType::Dreq, CommId{900}, here))), CommId{7});
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Dreq, CommId{902}, here)), Verdict::NoMatch);
}

TEST_F(CmByCommIdTest, aMovedConnectionKeepsItsNumberOnTheWire) {
  const CommId on_wire = connected(function(1), CommId{7}, CommId{900});
  const auto state = port_.take_out(function(1));
  ASSERT_TRUE(state);
  EXPECT_EQ(port_.from_wire(cm(CmMessageType::Dreq, CommId{900}, on_wire)), Verdict::NoMatch);

  PortOptions other = with(CmStrategy::ByCommId);
  other.seed = 8;
  SharedPort destination(other, time_);
  ASSERT_TRUE(destination.put_in(function(3), {gid_of(function(1))}, *state));
  EXPECT_EQ(destination.from_wire(cm(CmMessageType::Dreq, CommId{900}, on_wire)), Verdict::ToFunction);
  EXPECT_EQ(second_comm_id(*destination.to_function(function(3))), CommId{7});
  EXPECT_EQ(destination.from_function(function(3), cm(CmMessageType::Drep, CommId{7}, CommId{900})),
            Verdict::ToWire);
  EXPECT_EQ(first_comm_id(*destination.to_wire()), on_wire);
}

TEST_F(CmByCommIdTest, aTimeLimitMovesAsWhatIsLeftOfIt) {
  const CommId on_wire = first_comm_id(sent_by(function(1), req(CommId{7}, gid_of(function(1)), peer_gid())));
  time_.pass(milliseconds{400});
  const auto state = port_.take_out(function(1));
  ASSERT_EQ(state->connections.size(), 1U);
  EXPECT_EQ(state->connections[0].expires_in, milliseconds{600});
  SharedPort destination(with(CmStrategy::ByCommId), time_);
  ASSERT_TRUE(destination.put_in(function(1), {gid_of(function(1))}, *state));
  time_.pass(milliseconds{599});
  destination.tick();
  EXPECT_EQ(destination.from_wire(cm(CmMessageType::Mra, CommId{900}, on_wire)), Verdict::ToFunction);
  time_.pass(milliseconds{1000});
  destination.tick();
  EXPECT_EQ(destination.from_wire(cm(CmMessageType::Rep, CommId{900}, on_wire)), Verdict::NoMatch);
}

}  // namespace
}  // namespace rdmove::gsi::test
