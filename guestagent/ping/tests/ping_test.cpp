// Messages that tell on every wrong byte, and the book that is kept of them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "guestagent/ping/introduction.hpp"
#include "guestagent/ping/message.hpp"
#include "guestagent/ping/options.hpp"
#include "guestagent/ping/report.hpp"

namespace rdmove::ping {
namespace {

using namespace std::chrono_literals;

Clock::time_point at(std::chrono::milliseconds time) {
  return Clock::time_point(time);
}

TEST(Message, comesBackAtEverySize) {
  for (const std::size_t size : {32UL, 33UL, 39UL, 40UL, 64UL, 4096UL}) {
    std::vector<std::byte> message(size);
    write_message(message, Stream{7}, 9);
    const auto read = read_message(message);
    ASSERT_TRUE(read) << size;
    EXPECT_EQ(read->number, 9U);
    EXPECT_EQ(read->stream, Stream{7});
  }
}

TEST(Message, everyWrongByteIsFound) {
  std::vector<std::byte> message(75);
  write_message(message, Stream{7}, 9);
  for (std::size_t i = 0; i < message.size(); ++i) {
    auto wrong = message;
    wrong[i] ^= std::byte{1};
    EXPECT_FALSE(read_message(wrong)) << "byte " << i;
  }
  EXPECT_FALSE(read_message(std::span(message).first(74)));
  EXPECT_FALSE(read_message({}));
}

TEST(Message, contentOfAnotherNumberIsFound) {
  std::vector<std::byte> first(64), second(64);
  write_message(first, Stream{7}, 1);
  write_message(second, Stream{7}, 2);
  std::copy(first.begin() + 32, first.end(), second.begin() + 32);
  EXPECT_FALSE(read_message(second));
}

TEST(Tally, tellsLostDuplicatedReorderedAndCorrupted) {
  Tally tally;
  for (const std::uint64_t number : {1, 2, 5, 4, 5, 6}) tally.arrived(number, at(1ms));
  tally.arrived(std::nullopt, at(1ms));
  EXPECT_EQ(tally.delivered(), 5U);
  EXPECT_EQ(tally.lost(), 1U);
  EXPECT_EQ(tally.reordered(), 1U);
  EXPECT_EQ(tally.duplicated(), 1U);
  EXPECT_EQ(tally.corrupted(), 1U);
  EXPECT_FALSE(tally.is_clean());
}

TEST(Tally, whatIsMissingAtTheEndIsLost) {
  Tally tally;
  tally.arrived(1, at(1ms));
  EXPECT_TRUE(tally.is_clean());
  tally.end(4);
  EXPECT_EQ(tally.lost(), 3U);
}

TEST(Tally, aHugeGapIsCountedAndNotKept) {
  Tally tally;
  tally.arrived(1'000'000'000, at(1ms));
  EXPECT_EQ(tally.lost(), 999'999'999U);
}

TEST(Tally, aBlackoutIsFromTheLastCompletionToTheNext) {
  Tally tally;
  tally.arrived(1, at(100ms));
  tally.down();
  tally.down();
  tally.completed(at(450ms));
  tally.completed(at(460ms));
  ASSERT_EQ(tally.blackouts().size(), 1U);
  EXPECT_EQ(tally.blackouts()[0], 350ms);
  EXPECT_EQ(tally.longest(), 350ms);
}

TEST(Report, eachConnectionTellsWhatBecameOfItsMessages) {
  Tally tally;
  for (const std::uint64_t number : {1, 2, 5, 4, 5}) tally.arrived(number, at(1ms));
  ConnectionReport connection{3, "10.0.0.2:7472", "up", "", 6, 2, &tally};
  EXPECT_EQ(
      to_text(connection),
      "connection 3 10.0.0.2:7472: up; sent 6, delivered 4, resent 2; lost 1, duplicated 1, reordered 1, "
      "corrupted 0; blackouts: none");
  tally.wrote();
  tally.read();
  tally.spoilt();
  EXPECT_NE(to_text(connection).find("corrupted 1; written 1, found right 1; blackouts"), std::string::npos);
}

TEST(Report, isOneJsonObjectPerLine) {
  Tally tally;
  tally.arrived(1, at(1ms));
  const ConnectionReport connection{1, "[fd00::1]:7472", "up", "", 3, 0, &tally};
  Totals totals;
  totals.add(connection);
  const std::string lines = to_json_lines(totals, "client", {connection});
  const auto end = lines.find('\n');
  EXPECT_EQ(nlohmann::json::parse(lines.substr(0, end))["up"], 1);
  EXPECT_EQ(nlohmann::json::parse(lines.substr(end + 1))["delivered"], 1);
}

TEST(Report, aFileIsReplacedInOneStep) {
  const std::string path = testing::TempDir() + "rdmove-ping-status";
  ASSERT_TRUE(replace_file(path, "one\n"));
  ASSERT_TRUE(replace_file(path, "two\n"));
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "two");
  EXPECT_FALSE(replace_file("/nonexistent/file", "x"));
}

std::variant<Options, int> parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "rdmove-ping");
  return parse(static_cast<int>(words.size()), const_cast<char**>(words.data()));
}

TEST(CommandLine, mistakesEndWithTwo) {
  const std::vector<std::vector<const char*>> mistakes = {{},
                                                          {"--server", "host"},
                                                          {"host", "--size", "31"},
                                                          {"host", "--size", "2000000"},
                                                          {"host", "--port", "0"},
                                                          {"host", "--count", "5", "--duration", "5"},
                                                          {"host", "--connections", "0"},
                                                          {"--server", "--rate", "5"},
                                                          {"--server", "--write"},
                                                          {"host", "--loops", "2"},
                                                          {"host", "--address", "::"},
                                                          {"host", "--unknown"}};
  for (const auto& words : mistakes) {
    const auto result = parsed(words);
    ASSERT_TRUE(std::holds_alternative<int>(result));
    EXPECT_EQ(std::get<int>(result), 2);
  }
}

TEST(Introduction, isReadAlsoFromAClientThatKnowsNoOneSidedOperations) {
  const auto data = write_introduction({64, {true, true}});
  const auto all = read_introduction(data);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size, 64U);
  EXPECT_TRUE(all->one_sided.write && all->one_sided.read);
  const auto earlier = read_introduction(std::span(data).first(8));
  ASSERT_TRUE(earlier);
  EXPECT_FALSE(earlier->one_sided.is_any());
  EXPECT_FALSE(read_introduction(std::span(data).first(7)));
  EXPECT_FALSE(read_introduction(write_introduction({31, {}})));
}

TEST(Ring, aPlaceIsUsedAgainAfterAllTheOthers) {
  Ring ring(40);
  EXPECT_EQ(ring.memory().size(), kPlaces * 40);
  EXPECT_EQ(ring.offset(1), ring.offset(1 + kPlaces));
  ring.place(1)[0] = std::byte{1};
  for (std::uint64_t number = 2; number < 1 + kPlaces; ++number) {
    EXPECT_NE(ring.offset(number), ring.offset(1));
    EXPECT_EQ(ring.place(number)[0], std::byte{0});
  }
}

TEST(CommandLine, isRead) {
  const auto result = parsed({"host", "--port", "1", "--count", "5", "--no-agent", "--json", "--write",
                              "--connections", "3", "--loops", "2"});
  ASSERT_TRUE(std::holds_alternative<Options>(result));
  const auto& options = std::get<Options>(result);
  EXPECT_EQ(options.host, "host");
  EXPECT_EQ(options.count, 5U);
  EXPECT_FALSE(options.with_agent);
  EXPECT_TRUE(options.json);
  EXPECT_TRUE(options.one_sided.write);
  EXPECT_FALSE(options.one_sided.read);
  EXPECT_EQ(options.loops, 2U);
}

}  // namespace
}  // namespace rdmove::ping
