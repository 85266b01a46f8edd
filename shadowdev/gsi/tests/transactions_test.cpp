// TransactionIDs: unique on the wire, restored on the way back, bounded, and never another request's.
#include "shadowdev/gsi/transactions.hpp"

#include <gtest/gtest.h>

#include <set>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

constexpr milliseconds kLifetime{1000};

class TransactionsTest : public testing::Test {
 protected:
  Datagram sent(const Datagram& request) {
    Datagram on_wire = request;
    const auto id = table_.open(request, time_.now());
    EXPECT_TRUE(id);
    on_wire.mad.set_transaction(id.value_or(tid(0)));
    return on_wire;
  }
  std::optional<TransactionId> answered(const Datagram& on_wire) {
    return table_.close(accepted(on_wire), time_.now());
  }

  FakeTime time_;
  Transactions table_{function(5), 4, kLifetime};
};

std::uint64_t number(const Datagram& datagram) {
  return static_cast<std::uint64_t>(datagram.mad.transaction());
}

TEST_F(TransactionsTest, theFunctionIsInBits31To24AndTheUpperHalfIsFree) {
  const Datagram on_wire = sent(path_query(tid(0xDEADBEEF00000001)));
  EXPECT_EQ(number(on_wire) >> 32U, 0U);
  EXPECT_EQ(number(on_wire) >> 24U, 5U);
  EXPECT_EQ(Transactions::owner_of(on_wire.mad.transaction()), function(5));
}

TEST_F(TransactionsTest, theOriginalComesBackWhateverStandsInTheUpperHalf) {
  Datagram on_wire = sent(path_query(tid(0xDEADBEEF00000001)));
  on_wire.mad.set_transaction(tid(number(on_wire) | 0xABCDEF0100000000));
  EXPECT_EQ(answered(on_wire), tid(0xDEADBEEF00000001));
  EXPECT_EQ(answered(on_wire), std::nullopt) << "a second answer";
  EXPECT_EQ(table_.open_count(), 0U);
}

TEST_F(TransactionsTest, oneNumberOfTwoRequestsIsTwoOnTheWire) {
  const Datagram first = sent(path_query(tid(7)));
  Datagram device = path_query(tid(7));
  device.mad.set_field<1>(static_cast<std::uint8_t>(ManagementClass::DeviceManagement));
  const Datagram second = sent(device);
  EXPECT_NE(number(first), number(second));
  EXPECT_EQ(answered(second), tid(7));
  EXPECT_EQ(answered(first), tid(7));
}

TEST_F(TransactionsTest, aRetryKeepsItsNumberAndLivesLonger) {
  const Datagram first = sent(path_query(tid(7)));
  time_.pass(milliseconds{900});
  EXPECT_EQ(number(sent(path_query(tid(7)))), number(first));
  EXPECT_EQ(table_.open_count(), 1U);
  time_.pass(milliseconds{900});
  EXPECT_EQ(table_.expire(time_.now()), 0U);
  EXPECT_EQ(answered(first), tid(7));
}

TEST_F(TransactionsTest, anotherRequestUnderAnOldNumberEndsTheOldOne) {
  const Datagram first = sent(path_query(tid(7)));
  Datagram other = path_query(tid(7));
  other.mad.set_field<16>(attribute::kServiceRecord);
  const Datagram second = sent(other);
  EXPECT_EQ(answered(first), std::nullopt);
  EXPECT_EQ(answered(second), tid(7));
}

TEST_F(TransactionsTest, whatIsNotTheAnswerIsNotTaken) {
  const Datagram on_wire = sent(path_query(tid(7)));
  Datagram wrong = on_wire;
  wrong.remote = Lid{2};
  EXPECT_EQ(answered(wrong), std::nullopt) << "from another LID";
  wrong = on_wire;
  wrong.mad.set_field<16>(attribute::kServiceRecord);
  EXPECT_EQ(answered(wrong), std::nullopt) << "another attribute";
  wrong = on_wire;
  wrong.mad.set_method(Method::GetTable);
  EXPECT_EQ(answered(wrong), std::nullopt) << "another method";
  wrong = on_wire;
  wrong.mad.set_field<1>(static_cast<std::uint8_t>(ManagementClass::DeviceManagement));
  EXPECT_EQ(answered(wrong), std::nullopt) << "another class";
  for (const std::uint64_t bit : {0U, 11U, 12U, 23U, 24U, 31U}) {
    wrong = on_wire;
    wrong.mad.set_transaction(tid(number(on_wire) ^ (1ULL << bit)));
    EXPECT_EQ(answered(wrong), std::nullopt) << "bit " << bit;
  }
  EXPECT_EQ(answered(on_wire), tid(7));
}

TEST_F(TransactionsTest, aFullTableTakesNoMore) {
  for (std::uint64_t i = 0; i < 4; ++i) sent(path_query(tid(i)));
  EXPECT_EQ(table_.open(path_query(tid(4)), time_.now()), std::nullopt);
  EXPECT_TRUE(table_.open(path_query(tid(3)), time_.now())) << "a retry needs no slot";
  time_.pass(kLifetime);
  EXPECT_EQ(table_.expire(time_.now()), 4U);
  EXPECT_TRUE(table_.open(path_query(tid(4)), time_.now()));
}

TEST_F(TransactionsTest, aLateAnswerFindsNoOtherRequest) {
  const Datagram old = sent(path_query(tid(7)));
  time_.pass(kLifetime);
  EXPECT_EQ(answered(old), std::nullopt);
  table_.expire(time_.now());
  for (std::uint64_t i = 0; i < 4; ++i) sent(path_query(tid(100 + i)));
  EXPECT_EQ(answered(old), std::nullopt);
}

TEST_F(TransactionsTest, anotherFunctionUnderTheSameNumberGetsNoAnswersOfTheFormerOne) {
  const Datagram old = sent(path_query(tid(7)));
  table_.clear();
  for (std::uint64_t i = 0; i < 4; ++i) sent(path_query(tid(7 + i)));
  EXPECT_EQ(answered(old), std::nullopt);
}

TEST_F(TransactionsTest, aNumberIsRepeatedOnlyAfterAllUsesOfAllSlots) {
  std::set<std::uint64_t> seen;
  for (unsigned i = 0; i < 4 * 4096; ++i) {
    const Datagram on_wire = sent(path_query(tid(i)));
    EXPECT_TRUE(seen.insert(number(on_wire)).second) << i;
    answered(on_wire);
  }
}

TEST_F(TransactionsTest, anAnswerInSegmentsEndsWithTheLastOne) {
  Datagram query = path_query(tid(7));
  query.mad.set_method(Method::GetTable);
  const Datagram on_wire = sent(query);
  Datagram segment = accepted(on_wire);
  segment.mad.set_field<25>(rmpp::kData);
  segment.mad.set_field<26>(std::uint8_t{0x03});  // active, first
  EXPECT_EQ(table_.close(segment, time_.now()), tid(7));
  Datagram acknowledgement = query;
  acknowledgement.mad.set_field<25>(rmpp::kAcknowledge);
  acknowledgement.mad.set_field<26>(std::uint8_t{0x01});
  EXPECT_EQ(number(sent(acknowledgement)), number(on_wire));
  segment.mad.set_field<26>(std::uint8_t{0x05});  // active, last
  EXPECT_EQ(table_.close(segment, time_.now()), tid(7));
  EXPECT_EQ(number(sent(acknowledgement)), number(on_wire)) << "the last segment wants one too";
  EXPECT_NE(number(sent(query)), number(on_wire)) << "a new question under the old number";
}

TEST_F(TransactionsTest, whatOnlyWaitsForAnAcknowledgementGivesWay) {
  Datagram query = path_query(tid(7));
  query.mad.set_method(Method::GetTable);
  const Datagram on_wire = sent(query);
  Datagram last = accepted(on_wire);
  last.mad.set_field<25>(rmpp::kData);
  last.mad.set_field<26>(std::uint8_t{0x07});
  EXPECT_EQ(table_.close(last, time_.now()), tid(7));
  for (std::uint64_t i = 0; i < 4; ++i) sent(path_query(tid(100 + i)));
  EXPECT_EQ(table_.open_count(), 4U);
}

}  // namespace
}  // namespace rdmove::gsi::test
