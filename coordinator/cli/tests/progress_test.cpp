#include "coordinator/cli/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace rdmove::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::MigrationUpdate update(const std::string& phase, std::uint64_t left_mib = 0,
                           const std::string& message = "") {
  v1::MigrationUpdate u;
  u.mutable_migration()->set_id("vm1-x");
  u.mutable_migration()->set_domain("vm1");
  u.mutable_migration()->set_partner("hostb");
  u.mutable_migration()->set_phase(phase);
  u.set_message(message);
  if (phase == "Transferring") {
    u.mutable_progress()->set_total_bytes(1024ULL << 20U);
    u.mutable_progress()->set_remaining_bytes(left_mib << 20U);
    u.mutable_progress()->set_dirty_bytes_per_second(3U << 20U);
    u.mutable_progress()->set_iteration(2);
    u.mutable_progress()->set_elapsed_ms(1500);
  }
  return u;
}

struct Screen {
  std::ostringstream out, err;
  Terminal terminal;
  explicit Screen(Redraw redraw) : terminal{out, err, redraw, 100} {}
};

TEST(Progress, one_line_has_percent_bytes_left_dirty_rate_pass_and_time) {
  const auto progress = update("Transferring", 512).progress();
  EXPECT_EQ(transferLine(progress, 80),
            "[############............]  50 %  512.0 MiB left  dirty 3.0 MiB/s  pass 2  1.5 s");
  EXPECT_THAT(transferLine(progress, 60), Not(HasSubstr("[")));
  for (int width = 0; width < 130; ++width)
    EXPECT_LE(static_cast<int>(transferLine(progress, width).size()), std::max(width, 0) + 2);
}

TEST(Progress, percent_is_bounded_whatever_the_numbers) {
  v1::TransferProgress p;
  EXPECT_EQ(percentDone(p), 0);
  p.set_total_bytes(10);
  p.set_remaining_bytes(100);
  EXPECT_EQ(percentDone(p), 0);
  p.set_remaining_bytes(0);
  EXPECT_EQ(percentDone(p), 100);
}

TEST(Progress, without_a_terminal_there_are_only_plain_lines) {
  Screen screen(Redraw::kNo);
  const auto view = barView(screen.terminal);
  view->show(update("Preparing", 0, "asking the agent"));
  view->show(update("Preparing", 0, "asking the agent"));
  for (std::uint64_t left = 1024; left > 0; left -= 64) view->show(update("Transferring", left));
  view->settle();
  const std::string text = screen.out.str();
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 9);
  EXPECT_THAT(text,
              testing::StartsWith("vm1-x  Preparing  asking the agent\nvm1-x  Transferring\nvm1-x  [####"));
}

TEST(Progress, on_a_terminal_the_transfer_is_one_line) {
  Screen screen(Redraw::kYes);
  const auto view = barView(screen.terminal);
  for (std::uint64_t left = 1024; left > 0; left -= 64) view->show(update("Transferring", left));
  view->show(update("Handover"));
  view->settle();
  const std::string text = screen.out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 16);
  EXPECT_THAT(text, testing::EndsWith("\nvm1-x  Handover\n"));
}

TEST(Progress, a_view_of_all_says_how_each_one_ended) {
  Screen screen(Redraw::kYes);
  auto last = update("Completed");
  last.set_final(true);
  last.mutable_migration()->set_outcome("Completed");
  allView(screen.terminal)->show(last);
  EXPECT_EQ(screen.out.str(), "vm1 runs on hostb. migration vm1-x\n");
}

TEST(Progress, what_the_daemon_says_cannot_steer_the_terminal) {
  Screen screen(Redraw::kNo);
  lineView(screen.terminal)->show(update("Preparing", 0, "evil\x1b[2J\nline\xc2\x9b"));
  EXPECT_EQ(screen.out.str(), "vm1-x  Preparing  evil?[2J line?\n");
}

}  // namespace
}  // namespace rdmove::cli
