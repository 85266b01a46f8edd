#include "../beat_message.hpp"

#include <gtest/gtest.h>

namespace beat {
namespace {

TEST(BeatMessage, is_intact_as_made) {
  EXPECT_TRUE(is_intact(make_message(7, 1)));
}

TEST(BeatMessage, every_single_wrong_byte_is_noticed) {
  for (std::size_t place = 0; place < make_message(7, 1).contents.size(); ++place) {
    auto message = make_message(7, 1);
    message.contents.at(place) ^= 1;
    EXPECT_FALSE(is_intact(message)) << "byte " << place;
  }
}

TEST(BeatMessage, contents_under_another_number_are_noticed) {
  auto message = make_message(7, 1);
  message.number = 2;
  EXPECT_FALSE(is_intact(message));
}

TEST(BeatMessage, zeroes_are_not_a_message) {
  Message message;
  message.magic = 0;
  EXPECT_FALSE(is_intact(message));
}

}  // namespace
}  // namespace beat
