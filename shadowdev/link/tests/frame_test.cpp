// Frames of shadows, however a stream cuts them, and what is none.
#include "shadowdev/link/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "shadowdev/device/peer_message.hpp"

namespace rdmove::shadow {
namespace {

Frame sample(std::size_t payload) {
  Frame frame;
  frame.kind = FrameKind::Question;
  frame.id = 0x01020304;
  std::memset(frame.from.raw, 0xA1, sizeof frame.from.raw);
  std::memset(frame.to.raw, 0xB2, sizeof frame.to.raw);
  for (std::size_t i = 0; i < payload; ++i) frame.payload.push_back(static_cast<std::byte>(i));
  return frame;
}

void expect_same(const Frame& a, const Frame& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(std::memcmp(a.from.raw, b.from.raw, sizeof a.from.raw), 0);
  EXPECT_EQ(std::memcmp(a.to.raw, b.to.raw, sizeof a.to.raw), 0);
  EXPECT_EQ(a.payload, b.payload);
}

TEST(Frame, theyAreTheSameHoweverTheStreamIsCut) {
  const std::size_t sizes[] = {0, 1, kLongestMessage};
  std::vector<std::byte> stream;
  for (const std::size_t size : sizes) {
    const auto bytes = encode(sample(size));
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    FrameSplitter splitter;
    std::vector<Frame> all;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      const std::size_t length = std::min(step, stream.size() - at);
      ASSERT_TRUE(splitter.push(std::span(stream).subspan(at, length)));
      while (auto frame = splitter.next()) all.push_back(std::move(*frame));
    }
    ASSERT_EQ(all.size(), std::size(sizes));
    for (std::size_t i = 0; i < all.size(); ++i) expect_same(all[i], sample(sizes[i]));
  }
}

TEST(Frame, whatIsNoneIsRefusedBeforeItIsKept) {
  const auto good = encode(sample(4));
  const auto with = [&](std::size_t at, std::uint8_t value) {
    auto bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  for (const auto& bad : {with(0, 0xFF),               // longer than any message
                          with(2, 9),                  // another version
                          with(3, 0), with(3, 99)}) {  // no kind
    FrameSplitter splitter;
    EXPECT_FALSE(splitter.push(bad) && splitter.next());
  }
  auto too_short = good;
  too_short[0] = std::byte{0};
  too_short[1] = std::byte{39};  // less than a head
  FrameSplitter splitter;
  EXPECT_FALSE(splitter.push(too_short));
}

TEST(Frame, aPayloadThatIsTooLongIsCutWhereTheReaderWouldRefuse) {
  FrameSplitter splitter;
  ASSERT_TRUE(splitter.push(encode(sample(kLongestMessage + 500))));
  const auto frame = splitter.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload.size(), kLongestMessage);
}

}  // namespace
}  // namespace rdmove::shadow
