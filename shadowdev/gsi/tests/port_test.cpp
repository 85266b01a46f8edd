// Who gets what of a shared port: answers by TransactionID, requests by GID, QP0 not at all, and everybody
// his share.
#include <gtest/gtest.h>

#include <map>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

class PortTest : public testing::Test {
 protected:
  explicit PortTest(const PortOptions& with = options()) : port_(with, time_) {
    for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(port_.add_function(function(i), {gid_of(function(i))}));
  }
  Datagram sent_by(FunctionId from, const Datagram& datagram) {
    EXPECT_EQ(port_.from_function(from, datagram), Verdict::ToWire);
    return port_.to_wire().value_or(Datagram{});
  }

  FakeTime time_;
  SharedPort port_;
};

TEST_F(PortTest, anAnswerFindsTheOneWhoAskedUnderHisOwnNumber) {
  // All use one number, as drivers that count from 1 do.
  std::map<unsigned, Datagram> asked;
  for (unsigned i = 0; i < 4; ++i) asked[i] = sent_by(function(i), path_query(tid(1), gid_of(function(i))));
  for (unsigned i = 4; i-- > 0;) EXPECT_EQ(port_.from_wire(accepted(asked[i])), Verdict::ToFunction);
  for (unsigned i = 0; i < 4; ++i) {
    const auto answer = port_.to_function(function(i));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->mad.transaction(), tid(1));
    EXPECT_EQ((get_bytes<64, 16>(answer->mad.bytes())), gid_of(function(i)).bytes());
    EXPECT_FALSE(port_.to_function(function(i)));
    EXPECT_EQ(port_.outstanding(function(i)), 0U);
  }
}

TEST_F(PortTest, anAnswerToNothingIsNobodys) {
  Datagram stray = accepted(path_query(tid(0x0100'0001)));
  EXPECT_EQ(port_.from_wire(stray), Verdict::NoMatch);
  const Datagram asked = sent_by(function(1), path_query(tid(1)));
  EXPECT_EQ(port_.from_wire(accepted(asked)), Verdict::ToFunction);
  EXPECT_EQ(port_.from_wire(accepted(asked)), Verdict::NoMatch) << "twice";
  EXPECT_EQ(port_.wire_counters()[Verdict::NoMatch], 2U);
}

TEST_F(PortTest, subnetManagementIsABlackHoleForVirtualFunctions) {
  Datagram smp = path_query(tid(1));
  smp.queue_pair = kSubnetManagementQueuePair;
  EXPECT_EQ(port_.from_function(function(1), smp), Verdict::SubnetManagement);
  smp.queue_pair = kGeneralServicesQueuePair;
  for (const auto of : {ManagementClass::SubnetLidRouted, ManagementClass::SubnetDirectedRoute}) {
    smp.mad.set_field<1>(static_cast<std::uint8_t>(of));
    EXPECT_EQ(port_.from_function(function(1), smp), Verdict::SubnetManagement);
  }
  EXPECT_FALSE(port_.to_wire());
  EXPECT_EQ(port_.from_function(kPhysicalFunction, smp), Verdict::ToWire) << "it may run a subnet manager";
  EXPECT_EQ(port_.to_wire()->mad, smp.mad) << "and nothing is changed in it";
}

TEST_F(PortTest, subnetManagementFromTheWireIsForThePhysicalFunction) {
  Datagram smp = with_grh(path_query(tid(1)), peer_gid(), gid_of(function(1)));
  smp.queue_pair = kSubnetManagementQueuePair;
  EXPECT_EQ(port_.from_wire(smp), Verdict::ToFunction);
  EXPECT_TRUE(port_.to_function(kPhysicalFunction));
  EXPECT_FALSE(port_.to_function(function(1)));
  ASSERT_TRUE(port_.remove_function(kPhysicalFunction));
  EXPECT_EQ(port_.from_wire(smp), Verdict::SubnetManagement);
}

Datagram device_query(TransactionId id) {
  Datagram query;
  query.mad = Mad::make(ManagementClass::DeviceManagement, 1, Method::Get, 0x10);
  query.mad.set_transaction(id);
  query.remote = kPeer;
  return query;
}

TEST_F(PortTest, requestsAreSortedByGid) {
  EXPECT_EQ(port_.from_wire(with_grh(device_query(tid(5)), peer_gid(), gid_of(function(2)))),
            Verdict::ToFunction);
  const auto got = port_.to_function(function(2));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->mad.transaction(), tid(5)) << "a request from outside keeps its number";
  EXPECT_EQ(port_.from_wire(with_grh(device_query(tid(5)), peer_gid(), port_gid())), Verdict::NoFunction);
  EXPECT_EQ(port_.from_wire(device_query(tid(6))), Verdict::ToFunction);
  EXPECT_TRUE(port_.to_function(kPhysicalFunction)) << "the LID is the port's own";
}

TEST_F(PortTest, aFunctionAnswersOnlyWhatItWasAsked) {
  const Datagram request = with_grh(device_query(tid(5)), peer_gid(), gid_of(function(2)));
  port_.from_wire(request);
  const Datagram answer = accepted(request);
  Datagram forged = answer;
  forged.remote = kSubnetManager;
  EXPECT_EQ(port_.from_function(function(2), forged), Verdict::NoMatch);
  forged = answer;
  forged.grh->source = gid_of(function(1));
  EXPECT_EQ(port_.from_function(function(1), forged), Verdict::NoMatch) << "it was another's to answer";
  EXPECT_EQ(port_.from_function(function(2), answer), Verdict::ToWire);
  EXPECT_EQ(port_.to_wire()->mad.transaction(), tid(5));
  EXPECT_EQ(port_.from_function(function(2), answer), Verdict::NoMatch) << "once";
}

TEST_F(PortTest, aVirtualFunctionCannotSpeakForTheAdministrator) {
  const Datagram asked = sent_by(function(1), path_query(tid(1)));
  Datagram forged = accepted(asked);
  EXPECT_EQ(port_.from_function(function(2), forged), Verdict::NoMatch);
  EXPECT_FALSE(port_.to_wire());
}

TEST_F(PortTest, aGidThatIsNotTheFunctionsOwnIsRefused) {
  EXPECT_EQ(port_.from_function(function(1), with_grh(path_query(tid(1)), gid_of(function(2)), peer_gid())),
            Verdict::ForeignGid);
  EXPECT_EQ(port_.from_function(function(1), with_grh(path_query(tid(1)), gid_of(function(1)), peer_gid())),
            Verdict::ToWire);
}

TEST_F(PortTest, aVirtualFunctionAsksOnlyWhatItMay) {
  Datagram counters = device_query(tid(1));
  counters.mad.set_field<1>(static_cast<std::uint8_t>(ManagementClass::Performance));
  counters.mad.set_method(Method::Set);
  EXPECT_EQ(port_.from_function(function(1), counters), Verdict::ClassRefused);
  EXPECT_EQ(port_.from_function(kPhysicalFunction, counters), Verdict::ToWire);
  Datagram trap = path_query(tid(1));
  trap.mad.set_method(Method::Trap);
  EXPECT_EQ(port_.from_function(function(1), trap), Verdict::ClassRefused);
}

TEST_F(PortTest, whatTellsFunctionsApartIsNotChangedByThem) {
  Datagram set = path_query(tid(9));
  set.mad.set_method(Method::Set);
  set.mad.set_field<16>(attribute::kGuidInfoRecord);
  EXPECT_EQ(port_.from_function(function(1), set), Verdict::AnsweredHere);
  const auto answer = port_.to_function(function(1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mad.status(), 0x0700) << "request denied";
  EXPECT_EQ(answer->mad.method(), Method::GetResp);
  EXPECT_EQ(answer->mad.transaction(), tid(9));
  EXPECT_FALSE(port_.to_wire());
  EXPECT_EQ(port_.from_function(kPhysicalFunction, set), Verdict::ToWire);
}

TEST_F(PortTest, aServiceIsRegisteredOnlyUnderAnOwnGid) {
  Datagram service = path_query(tid(9), gid_of(function(1)));  // ServiceGID is where DGID is
  service.mad.set_method(Method::Set);
  service.mad.set_field<16>(attribute::kServiceRecord);
  EXPECT_EQ(port_.from_function(function(1), service), Verdict::ToWire);
  EXPECT_EQ(port_.from_function(function(2), service), Verdict::AnsweredHere);
  EXPECT_EQ(port_.to_function(function(2))->mad.status(), 0x0500) << "invalid GID";
}

TEST_F(PortTest, oneThatHoardsDelaysOnlyItself) {
  std::size_t taken = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    if (port_.from_function(function(1), path_query(tid(i))) == Verdict::ToWire) ++taken;
  }
  EXPECT_EQ(taken, 64U);
  EXPECT_EQ(port_.counters(function(1))[Verdict::OverQuota], 936U);
  EXPECT_EQ(port_.from_function(function(2), path_query(tid(1))), Verdict::ToWire);
  EXPECT_EQ(Transactions::owner_of(port_.to_wire()->mad.transaction()), function(1));
  EXPECT_EQ(Transactions::owner_of(port_.to_wire()->mad.transaction()), function(2)) << "its turn, after one";
  // And time gives it back what nobody answered.
  while (port_.to_wire()) {
  }
  EXPECT_EQ(port_.from_function(function(1), path_query(tid(2000))), Verdict::OverQuota);
  time_.pass(options().transaction_lifetime);
  EXPECT_EQ(port_.next_deadline(), time_.now());
  port_.tick();
  EXPECT_EQ(port_.expired(), 65U);
  EXPECT_EQ(port_.from_function(function(1), path_query(tid(2000))), Verdict::ToWire);
}

TEST_F(PortTest, oneThatDoesNotFetchLosesOnlyItsOwn) {
  for (unsigned i = 0; i < 300; ++i) {
    port_.from_wire(with_grh(device_query(tid(i)), peer_gid(), gid_of(function(1))));
  }
  EXPECT_EQ(port_.wire_counters()[Verdict::OverQuota], 300U - 256U);
  EXPECT_EQ(port_.from_wire(with_grh(device_query(tid(1)), peer_gid(), gid_of(function(2)))),
            Verdict::ToFunction);
  auto first = port_.to_functions();
  auto second = port_.to_functions();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->owner, function(1));
  EXPECT_EQ(second->owner, function(2));
}

TEST_F(PortTest, whatIsNoMadIsDropped) {
  Datagram junk;
  EXPECT_EQ(port_.from_function(function(1), junk), Verdict::Malformed);
  EXPECT_EQ(port_.from_wire(junk), Verdict::Malformed);
  EXPECT_EQ(port_.from_function(function(99), path_query(tid(1))), Verdict::NoFunction);
}

TEST_F(PortTest, aFunctionThatIsRefusedLeavesNothingBehind) {
  const auto message = [](const Result<void>& result) {
    return result ? std::string() : result.error().message;
  };
  EXPECT_EQ(message(port_.add_function(function(1), {peer_gid()})),
            "Function 1 is on this port already. Take it out, or choose another number.");
  EXPECT_EQ(message(port_.add_function(function(9), {gid_of(function(1))})),
            "The GID fe80::101 has an owner on this port. Take that function out first.");
  EXPECT_EQ(message(port_.add_function(function(9), {})), "Function 9 needs 1 to 16 GIDs, and has 0.");
  EXPECT_EQ(message(port_.add_function(function(9), {peer_gid(), peer_gid()})),
            "The GID fe80::bb has an owner on this port. Take that function out first.");
  EXPECT_EQ(message(port_.add_function(function(9), {peer_gid(), Gid{}})),
            ":: is no GID that a function can have.");
  EXPECT_EQ(message(port_.add_function(kPortItself, {peer_gid()})),
            "Function 255 is the port's own number. Use 0 to 254.");
  EXPECT_EQ(message(port_.remove_function(function(9))), "Function 9 is not on this port.");
  EXPECT_FALSE(port_.has_function(function(9)));
  EXPECT_TRUE(port_.add_function(function(9), {peer_gid()})) << "its GID was not kept";
}

TEST_F(PortTest, aFunctionThatLeftGetsNothingMoreAndItsSuccessorNothingOfIt) {
  const Datagram asked = sent_by(function(1), path_query(tid(1)));
  ASSERT_TRUE(port_.remove_function(function(1)));
  EXPECT_EQ(port_.from_wire(accepted(asked)), Verdict::NoMatch);
  ASSERT_TRUE(port_.add_function(function(1), {peer_gid()}));
  sent_by(function(1), path_query(tid(1)));
  EXPECT_EQ(port_.from_wire(accepted(asked)), Verdict::NoMatch);
}

}  // namespace
}  // namespace rdmove::gsi::test
