#include "coordinator/service/log_tail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace rdmove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LogTail, keeps_what_was_said_about_a_migration) {
  keepLogTail();
  spdlog::info("migration={} phase=Preflight", "vm1-x");
  spdlog::info("migration={} phase=Preflight", "vm2-x");
  spdlog::warn("migration={} phase=Reserving failed", "vm1-x");
  EXPECT_THAT(logTail("migration=vm1-x "),
              ElementsAre(HasSubstr("Preflight"), HasSubstr("Reserving failed")));
  EXPECT_TRUE(logTail("migration=vm3-x ").empty());
}

}  // namespace
}  // namespace rdmove
