#include "guestagent/protocol/line_splitter.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace rdmove::protocol {
namespace {

std::vector<std::string> lines_of(LineSplitter& splitter, std::string_view bytes) {
  std::vector<std::string> out;
  splitter.push(bytes, [&](std::string_view line) { out.emplace_back(line); });
  return out;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, gives_lines_without_their_ends_and_skips_empty_ones) {
  LineSplitter splitter;
  EXPECT_EQ(lines_of(splitter, "\na\n\r\nbc\r\nd"), (Lines{"a", "bc"}));
  EXPECT_EQ(lines_of(splitter, "e\n"), (Lines{"de"}));
}

TEST(LineSplitter, drops_an_overlong_line_whole_and_resynchronises) {
  LineSplitter splitter(4);
  EXPECT_EQ(lines_of(splitter, "1234\n12345\nok\n"), (Lines{"1234", "ok"}));
  EXPECT_EQ(splitter.dropped_lines(), 1U);
}

TEST(LineSplitter, holds_no_more_than_a_line_however_much_comes) {
  LineSplitter splitter;
  const std::string chunk(10'000, 'x');
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(lines_of(splitter, chunk).empty());
    EXPECT_LE(splitter.pending_bytes(), limits::line_bytes);
  }
  EXPECT_EQ(lines_of(splitter, "\nok\n"), (Lines{"ok"}));
  EXPECT_EQ(splitter.dropped_lines(), 1U);
}

TEST(LineSplitter, forgets_half_a_line_when_reset) {
  LineSplitter splitter;
  lines_of(splitter, "half of an old l");
  splitter.reset();
  EXPECT_EQ(lines_of(splitter, "new\n"), (Lines{"new"}));
}

TEST(LineSplitter, may_be_reset_from_its_own_callback) {
  LineSplitter splitter;
  Lines seen;
  splitter.push("a\nb\nc\n", [&](std::string_view line) {
    seen.emplace_back(line);
    splitter.reset();
  });
  EXPECT_EQ(seen, (Lines{"a"}));
}

// However a stream is cut, the lines are the same; garbage and over-long lines included.
TEST(LineSplitter, gives_the_same_lines_however_the_stream_is_cut) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string stream;
    for (int i = 0; i < 40; ++i) {
      const auto length = random() % 24;
      for (std::size_t k = 0; k < length; ++k) {
        const auto byte = static_cast<char>(random() % 256);
        stream += byte == '\n' ? ' ' : byte;
      }
      stream += '\n';
    }
    LineSplitter whole(16);
    const auto expected = lines_of(whole, stream);
    LineSplitter cut(16);
    Lines got;
    for (std::string_view left = stream; !left.empty();) {
      const auto size = std::min<std::size_t>(left.size(), 1 + random() % 30);
      for (auto& line : lines_of(cut, left.substr(0, size))) got.push_back(line);
      left.remove_prefix(size);
    }
    ASSERT_EQ(got, expected);
    ASSERT_EQ(cut.dropped_lines(), whole.dropped_lines());
  }
}

}  // namespace
}  // namespace rdmove::protocol
