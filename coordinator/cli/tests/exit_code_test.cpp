#include "coordinator/cli/exit_code.hpp"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "coordinator/cli/help_texts.hpp"

namespace rdmove::cli {
namespace {

TEST(ExitCodes, follow_the_outcome) {
  EXPECT_EQ(exitCodeForOutcome("Completed"), ExitCode::kDone);
  EXPECT_EQ(exitCodeForOutcome("Refused"), ExitCode::kRefused);
  EXPECT_EQ(exitCodeForOutcome("RolledBack"), ExitCode::kRolledBack);
  EXPECT_EQ(exitCodeForOutcome("Withdrawn"), ExitCode::kRolledBack);
  EXPECT_EQ(exitCodeForOutcome("Degraded"), ExitCode::kDegraded);
  EXPECT_EQ(exitCodeForOutcome("Incomplete"), ExitCode::kRolledBack) << "of an evacuation";
  EXPECT_EQ(exitCodeForOutcome("Cancelled"), ExitCode::kRolledBack) << "of an evacuation";
  for (const char* open : {"Running", "", "SomethingNew"})
    EXPECT_EQ(exitCodeForOutcome(open), ExitCode::kLostContact);
}

TEST(ExitCodes, follow_the_status_of_a_call_without_outcome) {
  using grpc::StatusCode;
  for (const auto refused :
       {StatusCode::INVALID_ARGUMENT, StatusCode::NOT_FOUND, StatusCode::FAILED_PRECONDITION,
        StatusCode::ALREADY_EXISTS, StatusCode::RESOURCE_EXHAUSTED, StatusCode::PERMISSION_DENIED,
        StatusCode::UNIMPLEMENTED, StatusCode::ABORTED}) {
    EXPECT_EQ(exitCodeForStatus(refused), ExitCode::kRefused) << refused;
  }
  for (const auto unknown : {StatusCode::UNAVAILABLE, StatusCode::DEADLINE_EXCEEDED, StatusCode::INTERNAL,
                             StatusCode::UNKNOWN, StatusCode::CANCELLED, StatusCode::DATA_LOSS}) {
    EXPECT_EQ(exitCodeForStatus(unknown), ExitCode::kLostContact) << unknown;
  }
}

TEST(ExitCodes, are_said_once_and_the_help_says_the_same) {
  for (const auto code : {ExitCode::kDone, ExitCode::kDefect, ExitCode::kUsage, ExitCode::kRefused,
                          ExitCode::kRolledBack, ExitCode::kDegraded, ExitCode::kLostContact}) {
    EXPECT_THAT(exitCodeLines(), testing::HasSubstr("  " + std::to_string(static_cast<int>(code)) + "  "));
  }
  EXPECT_THAT(detailsOf("rdmove"), testing::EndsWith(exitCodeLines()));
}

TEST(ExitCodes, are_the_documented_numbers) {
  EXPECT_EQ(static_cast<int>(ExitCode::kUsage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kRefused), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kRolledBack), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::kDegraded), 5);
  EXPECT_EQ(static_cast<int>(ExitCode::kLostContact), 6);
}

}  // namespace
}  // namespace rdmove::cli
