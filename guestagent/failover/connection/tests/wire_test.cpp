#include "guestagent/failover/connection/wire.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmove::failover::conn {
namespace {

Hello sample() {
  Hello hello;
  hello.kind = CallKind::Recall;
  hello.moved = true;
  hello.connection = 0x0102030405060708;
  hello.token = 0x1112131415161718;
  hello.incarnation = 0x2122232425262728;
  hello.epoch = 0x31323334;
  hello.recall_port = 0x4142;
  hello.backlog = 0x5152;
  hello.application = {std::byte{0xaa}, std::byte{0xbb}};
  return hello;
}

TEST(Wire, has_the_form_of_the_page) {
  const auto bytes = encode(sample());
  const std::vector<int> expected{'R',  'D',  'M',  'V',  1,    2,    2,    1,    1,    2,    3,
                                  4,    5,    6,    7,    8,    0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
                                  0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31,
                                  0x32, 0x33, 0x34, 0x41, 0x42, 0x51, 0x52, 0xaa, 0xbb};
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << i;
}

TEST(Wire, survives_the_padding_that_rdma_cm_adds) {
  auto bytes = encode(sample());
  bytes.resize(56);
  EXPECT_EQ(decode_hello(bytes), sample());
}

TEST(Wire, tells_a_stranger_from_another_version) {
  auto bytes = encode(sample());
  bytes[4] = std::byte{2};
  EXPECT_EQ(decode_hello(bytes).error(), Unreadable::OtherVersion);
  bytes[0] = std::byte{'X'};
  EXPECT_EQ(decode_hello(bytes).error(), Unreadable::Foreign);
  EXPECT_EQ(decode_hello({}).error(), Unreadable::Foreign);
}

TEST(Wire, refuses_what_is_too_short_or_claims_too_much) {
  auto bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_hello(std::span(bytes).first(size))) << size;
  bytes.resize(56);
  bytes[6] = std::byte{17};
  EXPECT_FALSE(decode_hello(bytes));
  bytes[6] = std::byte{0};
  bytes[5] = std::byte{3};
  EXPECT_FALSE(decode_hello(bytes));
}

TEST(Wire, refusals_go_and_come) {
  for (std::uint8_t why = 1; why <= 8; ++why) {
    const Refusal refusal{static_cast<RefusalCode>(why), 0x0102030405060708};
    const auto bytes = encode(refusal);
    std::vector<std::byte> padded(bytes.begin(), bytes.end());
    padded.resize(148);
    EXPECT_EQ(decode_refusal(padded), refusal);
  }
  EXPECT_FALSE(decode_refusal(std::vector<std::byte>(148)));
}

TEST(Wire, any_bytes_are_read_or_refused_and_what_is_read_is_written_alike) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& noise, bool looks_right) {
    std::vector<std::byte> bytes;
    for (const auto one : noise) bytes.push_back(std::byte{one});
    if (looks_right && bytes.size() >= 5) {
      const auto good = encode(sample());
      std::copy_n(good.begin(), 5, bytes.begin());
    }
    if (const auto hello = decode_hello(bytes)) RC_ASSERT(decode_hello(encode(*hello)) == *hello);
    (void)decode_refusal(bytes);
  }));
}

}  // namespace
}  // namespace rdmove::failover::conn
