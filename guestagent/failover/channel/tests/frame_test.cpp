// Frames byte by byte, as docs/channel-protocol.md has them.
#include "guestagent/failover/channel/frame.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rdmove::failover::channel::test {
namespace {

std::vector<unsigned> bytes(std::span<const std::byte> of) {
  std::vector<unsigned> all;
  for (const std::byte b : of) all.push_back(std::to_integer<unsigned>(b));
  return all;
}

TEST(Frame, headerIsAsThePageSays) {
  std::array<std::byte, kHeaderBytes> frame{};
  write_header(frame.data(), {FrameType::Message, kVersion, 0x01020304, 5, 6, 7});
  EXPECT_EQ(bytes(frame), (std::vector<unsigned>{2, 1, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5,
                                                 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7}));
}

TEST(Frame, headerComesBack) {
  std::vector<std::byte> frame(kHeaderBytes + 3);
  write_header(frame.data(), {FrameType::Finish, 9, 3, UINT64_MAX, 1ULL << 40U, 12});
  const auto header = read_header(frame);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->type, FrameType::Finish);
  EXPECT_EQ(header->version, 9);
  EXPECT_EQ(header->number, UINT64_MAX);
  EXPECT_EQ(header->acknowledged, 1ULL << 40U);
  EXPECT_EQ(header->credit, 12U);
}

TEST(Frame, helloIsAsThePageSays) {
  std::array<std::byte, kHelloBytes> payload{};
  const Hello hello{0x01020304, 0x0506, 0x0708, 9};
  write_hello(payload, hello);
  EXPECT_EQ(bytes(payload), (std::vector<unsigned>{1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 0, 0}));
  EXPECT_EQ(read_hello(payload), std::nullopt) << "above 1 MiB";
  write_hello(payload, {4096, 64, 64, 3});
  EXPECT_EQ(read_hello(payload), (Hello{4096, 64, 64, 3}));
}

TEST(Frame, aLongerHelloIsALaterVersionsAndIsTaken) {
  std::vector<std::byte> payload(kHelloBytes + 20);
  write_hello(std::span<std::byte, kHelloBytes>(payload.data(), kHelloBytes), {4096, 64, 64, 3});
  EXPECT_TRUE(read_hello(payload));
}

TEST(Frame, greetingIsAsThePageSays) {
  const Greeting greeting{0x0102, 0x03040506, 0x0708090a0b0c0d0e};
  const auto words = write_greeting(greeting);
  EXPECT_EQ(bytes(words), (std::vector<unsigned>{1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(read_greeting(words), greeting);
}

TEST(Frame, aGreetingThatIsNotOneIsNone) {
  auto words = write_greeting({1, 2, 3});
  EXPECT_FALSE(read_greeting({}));
  EXPECT_FALSE(read_greeting(std::span(words).first(15)));
  words[0] = std::byte{2};
  EXPECT_FALSE(read_greeting(words)) << "of a later version";
}

TEST(Frame, regionIsAsThePageSays) {
  std::array<std::byte, kRegionBytes> payload{};
  write_region(payload, {5, true, true, false, true, 0x01020304, 0x10, 0x20, *RegionName::from("ab")});
  std::vector<unsigned> expected(kRegionBytes);
  expected[0] = 5, expected[1] = 1 + 2 + 8, expected[2] = 2;
  expected[4] = 1, expected[5] = 2, expected[6] = 3, expected[7] = 4;
  expected[15] = 0x10, expected[23] = 0x20, expected[24] = 'a', expected[25] = 'b';
  EXPECT_EQ(bytes(payload), expected);
  const auto region = read_region(payload);
  ASSERT_TRUE(region);
  EXPECT_EQ(region->name.text(), "ab");
  EXPECT_EQ(region->key, 0x01020304U);
  EXPECT_TRUE(region->writable && !region->readable && region->initial);
}

TEST(Frame, everyOtherRegionByteIsRefusedOrReadWithinBounds) {
  std::array<std::byte, kRegionBytes> good{};
  write_region(good, {5, true, true, false, true, 1, 0x10, 0x20, *RegionName::from(std::string(32, 'n'))});
  for (std::size_t at = 0; at < kRegionBytes; ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      auto payload = good;
      payload[at] = static_cast<std::byte>(value);
      const auto region = read_region(payload);
      if (region) {
        EXPECT_LT(region->place, kRegions);
      }
    }
  }
}

}  // namespace
}  // namespace rdmove::failover::channel::test
