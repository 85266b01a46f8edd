#include "coordinator/migration/transfer_samples.hpp"

#include <gtest/gtest.h>

namespace rdmove {
namespace {

JobProgress left(std::uint64_t remaining, std::uint64_t dirty = 0) {
  JobProgress progress;
  progress.active = true;
  progress.remaining_bytes = remaining;
  progress.dirty_bytes_per_second = dirty;
  return progress;
}

std::chrono::system_clock::time_point at(int seconds) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
}

TEST(TransferSamples, what_was_sent_is_what_is_less_and_what_was_dirtied) {
  TransferSamples samples;
  samples.add(at(10), left(1000));
  samples.add(at(12), left(600, 50));
  samples.add(at(13), left(900, 50));  // dirtied faster than it was sent
  ASSERT_EQ(samples.all().size(), 3U);
  EXPECT_EQ(samples.all()[0].sent_bytes_per_second, 0U);
  EXPECT_EQ(samples.all()[1].sent_bytes_per_second, 250U);
  EXPECT_EQ(samples.all()[2].sent_bytes_per_second, 0U);
}

TEST(TransferSamples, are_read_as_they_were_written) {
  TransferSamples samples;
  samples.add(at(10), left(1000, 7));
  samples.add(at(11), left(10));
  EXPECT_EQ(TransferSamples::read(samples.json()), samples.all());
  for (const char* rubbish : {"", "{}", "[1]", "[[1,2,3]]", "[[1,2,3,\"4\"]]", "[[1,2,3,4"})
    EXPECT_TRUE(TransferSamples::read(rubbish).empty()) << rubbish;
}

TEST(TransferSamples, of_a_long_transfer_are_fewer_and_cover_all_of_it) {
  TransferSamples samples;
  constexpr int kSeconds = 5000;
  for (int second = 0; second < kSeconds; ++second) samples.add(at(second), left(1000));
  EXPECT_LE(samples.all().size(), TransferSamples::kMost);
  EXPECT_GT(samples.all().size(), TransferSamples::kMost / 4);
  EXPECT_EQ(samples.all().front().wall_us, 0);
  EXPECT_GT(samples.all().back().wall_us, (kSeconds - 100) * 1000000LL);
  EXPECT_LT(samples.json().size(), 64U * 1024);
}

}  // namespace
}  // namespace rdmove
