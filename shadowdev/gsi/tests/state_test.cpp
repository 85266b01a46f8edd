// A function's state: what moves from one port to another, as bytes, and what bytes that are none are
// answered with.
#include <gtest/gtest.h>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

class StateTest : public testing::Test {
 protected:
  StateTest() : source_(options(), time_), destination_(at_destination(), time_) {
    for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(source_.add_function(function(i), {gid_of(function(i))}));
  }
  static PortOptions at_destination() {
    PortOptions other = options();
    other.gid = Gid::from(kPrefix, 0xCC);
    other.subnet_manager = Lid{2};
    other.seed = 99;
    return other;
  }
  /// The administrator grants all that a port asks; returns what it asked.
  static std::vector<Datagram> grant_all(SharedPort& port) {
    std::vector<Datagram> all;
    while (const auto request = port.to_wire()) {
      all.push_back(*request);
      port.from_wire(request->mad.attribute() == attribute::kMcMemberRecord ? granted(*request)
                                                                            : accepted(*request));
    }
    return all;
  }
  /// A function with two groups, one of them shared, a subscription and a connection.
  FunctionState taken_out() {
    source_.from_function(function(1), join(function(1), tid(1), group(1), kFullMember));
    source_.from_function(function(1), join(function(1), tid(2), group(2), kFullMember | kSendOnlyNonMember));
    source_.from_function(function(2), join(function(2), tid(1), group(2), kFullMember));
    source_.from_function(function(1), inform_request(tid(3), for_trap(64)));
    grant_all(source_);
    source_.from_function(function(1), req(CommId{7}, gid_of(function(1)), peer_gid()));
    on_wire_ = first_comm_id(*source_.to_wire());
    source_.from_wire(cm(CmMessageType::Rep, CommId{900}, on_wire_));
    source_.from_function(function(1), cm(CmMessageType::Rtu, CommId{7}, CommId{900}));
    source_.to_wire();
    while (source_.to_functions()) {
    }
    return source_.take_out(function(1)).value();
  }
  std::vector<std::byte> bytes() { return serialise(taken_out()).value(); }
  static Problem problem_of(const std::vector<std::byte>& bytes) {
    const auto state = parse(bytes);
    EXPECT_FALSE(state);
    return state ? Problem{} : state.error();
  }
  /// With a checksum that fits.
  static std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
    // The last four bytes are CRC-32 over the rest.
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::size_t i = 0; i + 4 < bytes.size(); ++i) {
      crc ^= std::to_integer<std::uint32_t>(bytes[i]);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    store(&bytes[bytes.size() - 4], ~crc);
    return bytes;
  }

  FakeTime time_;
  SharedPort source_;
  SharedPort destination_;
  CommId on_wire_{};
};

TEST_F(StateTest, comesBackAsItWas) {
  const FunctionState state = taken_out();
  EXPECT_EQ(state.memberships.size(), 2U);
  EXPECT_EQ(state.subscriptions.size(), 1U);
  EXPECT_EQ(state.connections.size(), 1U);
  const auto written = serialise(state);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->size(), 24U + 2 * 52 + 36 + 20 + 4);
  const auto read = parse(*written);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, state);
  EXPECT_EQ(*written, sealed(*written)) << "CRC-32 as the page says";
}

TEST_F(StateTest, anEmptyOneComesBackToo) {
  const auto written = serialise(FunctionState{});
  ASSERT_TRUE(written);
  EXPECT_EQ(parse(*written), FunctionState{});
}

TEST_F(StateTest, theSourceLeavesWhatOnlyItNeeded) {
  taken_out();
  const auto asked = grant_all(source_);
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[0].mad.method(), Method::Delete);
  EXPECT_EQ(member_record(asked[0].mad).group, group(1));
  EXPECT_EQ(member_record(asked[1].mad).group, group(2));
  EXPECT_EQ(member_record(asked[1].mad).join_state, kSendOnlyNonMember)
      << "function 2 still is a full member";
  EXPECT_FALSE(inform_info(asked[2].mad).is_subscribe);
  EXPECT_EQ(source_.membership(group(2)), kFullMember);
  EXPECT_FALSE(source_.has_function(function(1)));
}

TEST_F(StateTest, theDestinationAsksForAllOfItAndTheGuestForNothing) {
  ASSERT_TRUE(destination_.put_in(function(5), {gid_of(function(1))}, parse(bytes()).value()));
  const auto asked = grant_all(destination_);
  ASSERT_EQ(asked.size(), 3U);
  for (const Datagram& request : asked) EXPECT_EQ(request.remote, Lid{2});
  EXPECT_EQ(member_record(asked[0].mad).group, group(1));
  EXPECT_EQ(member_record(asked[0].mad).port, Gid::from(kPrefix, 0xCC));
  EXPECT_EQ(member_record(asked[1].mad).join_state, kFullMember | kSendOnlyNonMember);
  EXPECT_TRUE(inform_info(asked[2].mad).is_subscribe);
  EXPECT_FALSE(destination_.to_functions());
  EXPECT_FALSE(destination_.next_event());
  EXPECT_EQ(destination_.membership(group(1)), kFullMember);
  // It has what it had: leaving works, a report arrives, the connection's number is kept.
  EXPECT_EQ(destination_.from_function(function(5), leave(function(1), tid(9), group(1))), Verdict::Waiting);
  Datagram event = report(tid(5), gid_in_service(peer_gid()));
  event.remote = Lid{2};
  EXPECT_EQ(destination_.from_wire(event), Verdict::ToFunction);
  EXPECT_EQ(destination_.from_wire(cm(CmMessageType::Dreq, CommId{900}, on_wire_)), Verdict::ToFunction);
}

TEST_F(StateTest, whatThePortHasAlreadyIsNotAskedForAgain) {
  ASSERT_TRUE(destination_.add_function(function(3), {gid_of(function(3))}));
  Datagram first = join(function(3), tid(1), group(1));
  first.remote = Lid{2};
  destination_.from_function(function(3), first);
  grant_all(destination_);
  ASSERT_TRUE(destination_.put_in(function(5), {gid_of(function(1))}, taken_out()));
  const auto asked = grant_all(destination_);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(member_record(asked[0].mad).group, group(2));
}

TEST_F(StateTest, aGroupThatIsAnotherOneHereIsTold) {
  ASSERT_TRUE(destination_.put_in(function(5), {gid_of(function(1))}, taken_out()));
  while (const auto request = destination_.to_wire()) {
    if (request->mad.attribute() != attribute::kMcMemberRecord) continue;
    McMemberRecord other = member_record(request->mad);
    other.multicast_lid = 0xC0FE;
    destination_.from_wire(granted(*request, other));
  }
  const auto event = destination_.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->change, RecordChange::Changed);
  EXPECT_EQ(event->function, function(5));
}

TEST_F(StateTest, aSilentAdministratorAtTheDestinationIsTold) {
  PortOptions patient = at_destination();
  patient.multicast.attempts = patient.subscriptions.attempts = 2;
  SharedPort port(patient, time_);
  ASSERT_TRUE(port.put_in(function(5), {gid_of(function(1))}, taken_out()));
  for (int i = 0; i < 2; ++i) {
    while (port.to_wire()) {
    }
    time_.pass(milliseconds{1000});
    port.tick();
  }
  int lost = 0;
  while (const auto event = port.next_event()) {
    EXPECT_EQ(event->change, RecordChange::Lost);
    ++lost;
  }
  EXPECT_EQ(lost, 3);
}

TEST_F(StateTest, anOutstandingRequestStaysBehindAndCanBeAskedAgain) {
  source_.from_function(function(1), path_query(tid(1)));
  const Datagram asked = *source_.to_wire();
  source_.from_function(function(1), join(function(1), tid(2), group(9)));
  const FunctionState state = source_.take_out(function(1)).value();
  EXPECT_TRUE(state.memberships.empty()) << "it was not granted yet";
  ASSERT_TRUE(destination_.put_in(function(1), {gid_of(function(1))}, state));
  EXPECT_EQ(source_.from_wire(accepted(asked)), Verdict::NoMatch);
  EXPECT_EQ(destination_.from_wire(accepted(asked)), Verdict::NoMatch);
  EXPECT_EQ(destination_.from_function(function(1), path_query(tid(1))), Verdict::ToWire);
  EXPECT_EQ(destination_.from_wire(accepted(*destination_.to_wire())), Verdict::ToFunction);
}

TEST_F(StateTest, backAndForthIsTheSame) {
  const FunctionState state = taken_out();
  grant_all(source_);
  ASSERT_TRUE(destination_.put_in(function(5), {gid_of(function(1))}, state));
  grant_all(destination_);
  EXPECT_EQ(destination_.take_out(function(5)).value(), state);
}

TEST_F(StateTest, whoCannotBeTakenOutIsTold) {
  EXPECT_EQ(source_.take_out(kPhysicalFunction).error().message,
            "The physical function is the port itself and stays where it is.");
  EXPECT_EQ(source_.take_out(function(77)).error().message, "Function 77 is not on this port.");
}

TEST_F(StateTest, whatDoesNotFitChangesNothing) {
  const FunctionState state = taken_out();
  PortOptions tight = at_destination();
  tight.multicast.records_per_function = 1;
  SharedPort port(tight, time_);
  const auto result = port.put_in(function(5), {gid_of(function(1))}, state);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ProblemCode::TooLarge);
  EXPECT_EQ(
      result.error().message,
      "Function 5 comes with 2 memberships, and this port allows 1. Raise the limit or choose another port.");
  EXPECT_FALSE(port.has_function(function(5)));
  EXPECT_FALSE(port.to_wire());
  EXPECT_TRUE(port.add_function(function(6), {gid_of(function(1))})) << "its GID was not kept";
  EXPECT_EQ(port.put_in(function(6), {peer_gid()}, {}).error().code, ProblemCode::Conflict);
}

TEST_F(StateTest, everyCutIsNoticed) {
  const auto whole = bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto state = parse(std::span(whole).first(length));
    ASSERT_FALSE(state) << length;
    EXPECT_EQ(state.error().code, ProblemCode::Damaged) << length;
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_EQ(problem_of(longer).code, ProblemCode::Damaged);
}

TEST_F(StateTest, everyChangedBitIsNoticed) {
  const auto whole = bytes();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto changed = whole;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(parse(changed)) << bit;
  }
}

TEST_F(StateTest, anotherVersionIsNamed) {
  auto other = bytes();
  store(&other[4], std::uint16_t{7});
  const Problem problem = problem_of(sealed(other));
  EXPECT_EQ(problem.code, ProblemCode::OtherVersion);
  EXPECT_EQ(problem.message,
            "The state of a function has format 7, and this release reads format 1. Bring both hosts to one "
            "release.");
}

TEST_F(StateTest, hugeCountsTakeNoMemory) {
  const auto whole = bytes();
  for (const std::size_t field : {12U, 16U, 20U}) {
    for (const std::uint32_t count : {0x80000000U, 0xFFFFFFFFU, 0x10001U}) {
      auto huge = whole;
      store(&huge[field], count);
      EXPECT_EQ(problem_of(sealed(huge)).code, ProblemCode::TooLarge) << field << " " << count;
    }
    auto more = whole;
    store(&more[field], std::uint32_t{40});
    EXPECT_EQ(problem_of(sealed(more)).code, ProblemCode::Damaged) << field;
  }
}

TEST_F(StateTest, valuesThatNothingHasAreNoticedBehindAGoodChecksum) {
  const auto whole = bytes();
  auto changed = whole;
  changed[24] = std::byte{0xFE};  // the first group's GID is no multicast GID
  EXPECT_EQ(problem_of(sealed(changed)).code, ProblemCode::Damaged);
  changed = whole;
  changed[24 + 48] &= std::byte{0xF0};  // JoinState 0
  EXPECT_EQ(problem_of(sealed(changed)).code, ProblemCode::Damaged);
  const std::size_t connection = 24 + 2 * 52 + 36;
  for (const unsigned phase : {0U, 5U, 255U}) {
    changed = whole;
    changed[connection + 14] = static_cast<std::byte>(phase);
    EXPECT_EQ(problem_of(sealed(changed)).code, ProblemCode::Damaged) << phase;
  }
  changed = whole;
  changed[connection + 15] = std::byte{4};  // a flag of no version
  EXPECT_EQ(problem_of(sealed(changed)).code, ProblemCode::Damaged);
}

TEST_F(StateTest, moreThanTheFormatTakesIsNotWritten) {
  FunctionState state;
  state.memberships.resize(FunctionState::kMostRecords + 1);
  const auto written = serialise(state);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ProblemCode::TooLarge);
}

}  // namespace
}  // namespace rdmove::gsi::test
