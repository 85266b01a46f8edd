#include "coordinator/agentlink/guest_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rdmove {
namespace {

Answer refusal(int code, nlohmann::json data = nlohmann::json::object()) {
  return tl::unexpected(
      protocol::Error{static_cast<protocol::ErrorCode>(code), "why", protocol::Payload(std::move(data))});
}

TEST(GuestAnswers, error_codes_become_ours) {
  const std::pair<int, ErrorCode> table[] = {
      {-32011, ErrorCode::kNotFound},     {-32012, ErrorCode::kConflict},     {-32013, ErrorCode::kTimeout},
      {-32014, ErrorCode::kIncompatible}, {-32601, ErrorCode::kIncompatible}, {-32602, ErrorCode::kInternal},
      {-1, ErrorCode::kInternal},
  };
  for (const auto& [theirs, ours] : table)
    EXPECT_EQ(prepareOutcome(refusal(theirs)).error().code, ours) << theirs;
}

TEST(GuestAnswers, a_holdout_error_without_holdouts_is_never_success) {
  EXPECT_EQ(prepareOutcome(refusal(-32010)).error().code, ErrorCode::kHoldouts);
  EXPECT_EQ(prepareOutcome(refusal(-32010, {{"holdouts", nlohmann::json::array()}})).error().code,
            ErrorCode::kHoldouts);
  EXPECT_EQ(prepareOutcome(refusal(-32010, {{"holdouts", 7}})).error().code, ErrorCode::kHoldouts);
}

TEST(GuestAnswers, malformed_results_are_errors) {
  const Answer empty = protocol::Payload(nlohmann::json::object());
  EXPECT_EQ(prepareOutcome(empty).error().code, ErrorCode::kInternal);
  EXPECT_EQ(restoreOutcome(empty).error().code, ErrorCode::kInternal);
  EXPECT_EQ(holdoutsAnswer(empty).error().code, ErrorCode::kInternal);
  EXPECT_EQ(queryAnswer("counters", empty).error().code, ErrorCode::kInternal);
}

TEST(GuestAnswers, text_of_the_guest_is_made_printable_and_short) {
  EXPECT_EQ(printable("a\n\x1b[31mb\x7f"), "a??[31mb?");
  EXPECT_EQ(printable(std::string(10000, 'x')).size(), 512U);
}

}  // namespace
}  // namespace rdmove
