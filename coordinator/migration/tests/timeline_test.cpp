#include "coordinator/migration/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace rdmove {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStart = 1'796'000'000'000'000;

TimelineSpan span(std::string source, std::string phase, double begin_ms, double duration_ms) {
  const auto begin = kStart + static_cast<std::int64_t>(begin_ms * 1000);
  return {std::move(source),
          std::move(phase),
          begin,
          begin + static_cast<std::int64_t>(duration_ms * 1000),
          false,
          {}};
}

Timeline completed() {
  return {"vm1-20261130-0a1b2c",
          "vm1",
          "Completed",
          {span("hosta departure", "Preflight", 0, 240), span("hosta departure", "Prepare", 240, 410.5),
           span("hosta departure", "Transferring", 700, 6200), span("hostb arrival", "Reserved", 260, 6500),
           span("hostb arrival", "Plug", 6760, 180), span("guest", "Restore", 6950, 60)}};
}

std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
  return count;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, columns(line));
  return most;
}

TEST(TimelineText, draws_a_row_a_span_grouped_by_source) {
  EXPECT_EQ(renderText(completed(), 80), R"(vm1-20261130-0a1b2c  vm1  Completed  7010.0 ms
                0           2 s         4 s         6 s     begin ms  duration
hosta departure
  Preflight    │█                                         │      0.0     240.0
  Prepare      │ ███                                      │    240.0     410.5
  Transferring │    █████████████████████████████████████ │    700.0    6200.0
hostb arrival
  Reserved     │  ███████████████████████████████████████ │    260.0    6500.0
  Plug         │                                         █│   6760.0     180.0
guest
  Restore      │                                         ▏│   6950.0      60.0
)");
}

TEST(TimelineText, never_is_wider_than_asked) {
  Timeline timeline = completed();
  timeline.spans[2].failed = true;
  timeline.spans[2].detail = std::string(500, 'x');
  timeline.spans[1].phase = std::string(90, 'y');
  timeline.domain = std::string(300, 'z');
  for (int width = 48; width <= 200; ++width) {
    EXPECT_LE(widest(renderText(timeline, width)), static_cast<std::size_t>(width)) << width;
  }
}

TEST(TimelineText, odd_widths_are_clamped) {
  for (const int width : {-1, 0, 1, 100000, std::numeric_limits<int>::min()}) {
    EXPECT_LE(widest(renderText(completed(), width)), 400U);
  }
}

TEST(TimelineText, without_spans_says_so) {
  EXPECT_EQ(renderText({"id", "vm1", "running", {}}, 80),
            "id  vm1  running  0.0 ms\nnothing has happened yet\n");
  EXPECT_THAT(renderSvg({"id", "vm1", "running", {}}), HasSubstr("Nothing has happened yet."));
}

TEST(TimelineText, a_running_span_is_open_to_the_right) {
  Timeline timeline = completed();
  timeline.spans[2].end_us.reset();
  const std::string text = renderText(timeline, 80);
  EXPECT_THAT(text, HasSubstr("█▶│"));
  EXPECT_THAT(text, HasSubstr("running"));
  EXPECT_THAT(renderSvg(timeline), HasSubstr("url(#f0)"));
}

TEST(TimelineText, a_failed_span_is_marked_and_explained) {
  Timeline timeline = completed();
  timeline.outcome = "RolledBack";
  timeline.spans[2].failed = true;
  timeline.spans[2].detail = "libvirt: connection reset";
  const std::string text = renderText(timeline, 100);
  EXPECT_THAT(text, HasSubstr("6200.0 ✗"));
  EXPECT_THAT(text, HasSubstr("✗ hosta departure Transferring: libvirt: connection reset\n"));
  EXPECT_THAT(renderSvg(timeline), HasSubstr("class=\"failed\""));
}

TEST(TimelineText, a_clock_that_is_behind_gives_negative_begins) {
  Timeline timeline = completed();
  timeline.spans[3] = span("hostb arrival", "Reserved", -1500.5, 300);
  const std::string text = renderText(timeline, 80);
  EXPECT_THAT(text, HasSubstr("-1500.5"));
  EXPECT_THAT(text, HasSubstr("Below 0: each host uses its own clock"));
  EXPECT_THAT(renderSvg(timeline), HasSubstr("begin -1500.5 ms"));
}

TEST(TimelineText, identical_times_and_ends_before_begins_are_points) {
  Timeline timeline{
      "id", "vm1", "Completed", {span("a", "One", 0, 0), span("a", "Two", 0, 0), span("b", "Three", 0, -5)}};
  const std::string text = renderText(timeline, 80);
  EXPECT_THAT(text, HasSubstr("▏"));
  EXPECT_THAT(text, Not(HasSubstr("-5")));
  EXPECT_THAT(renderSvg(timeline), Not(HasSubstr("nan")));
}

TEST(TimelineText, extreme_times_do_not_overflow) {
  Timeline timeline = completed();
  timeline.spans[0].begin_us = std::numeric_limits<std::int64_t>::min();
  timeline.spans[1].end_us = std::numeric_limits<std::int64_t>::max();
  EXPECT_LE(widest(renderText(timeline, 80)), 110U);
  EXPECT_THAT(renderSvg(timeline), Not(HasSubstr("inf")));
}

TEST(TimelineText, thousands_of_spans_are_bounded_and_failed_ones_stay) {
  Timeline timeline{"id", "vm1", "Completed", {}};
  for (int i = 0; i < 5000; ++i) timeline.spans.push_back(span("hosta departure", "Retry", i, i % 7 + 1));
  timeline.spans[2500].failed = true;
  timeline.spans[2500].phase = "TheBadOne";
  const std::string text = renderText(timeline, 100);
  EXPECT_THAT(text, HasSubstr("4700 shorter spans are left out"));
  EXPECT_THAT(text, HasSubstr("TheBadOne"));
  EXPECT_LT(text.size(), 120'000U);
  EXPECT_LT(renderSvg(timeline).size(), 400'000U);
}

TEST(TimelineText, control_characters_and_broken_utf8_are_not_passed_on) {
  Timeline timeline = completed();
  timeline.spans[0].phase = "a\x1b[2Jb\xff\xc3";
  timeline.domain = "vm\r\n1";
  const std::string text = renderText(timeline, 80);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a [2Jb\xef\xbf\xbd\xef\xbf\xbd"));
  EXPECT_THAT(text, HasSubstr("vm  1"));
}

TEST(TimelineSvg, escapes_what_it_was_given) {
  Timeline timeline = completed();
  timeline.domain = "<script>alert(1)</script>";
  timeline.migration = "\"quoted\" & 'so'";
  timeline.spans[0].phase = "a<b";
  timeline.spans[0].detail = "]]> & \x01";
  const std::string svg = renderSvg(timeline);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(svg, HasSubstr("&quot;quoted&quot; &amp; &#39;so&#39;"));
  EXPECT_THAT(svg, HasSubstr("]]&gt; &amp;  </title>"));
  EXPECT_THAT(svg, Not(HasSubstr("\x01")));
}

TEST(TimelineSvg, serves_light_and_dark_and_needs_nothing_else) {
  const std::string svg = renderSvg(completed());
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, HasSubstr("410.5 ms"));
}

TEST(TimelineBlackout, is_from_the_unplug_to_the_guests_word_on_whichever_host) {
  Timeline timeline{"id", "vm1", "Completed", {}};
  EXPECT_FALSE(blackoutOf(timeline));
  timeline.spans = {{"hosta departure", "Preflight", 0, 1000, false, ""},
                    {"hosta departure", "Unplugging", 2000, 3000, false, ""}};
  ASSERT_TRUE(blackoutOf(timeline));
  EXPECT_FALSE(blackoutOf(timeline)->end_us);
  EXPECT_THAT(renderSvg(timeline), HasSubstr(">without RDMA</text>"));
  timeline.spans.push_back({"hostb arrival", "RestoringGuest", 5000, 6000, true, ""});
  EXPECT_FALSE(blackoutOf(timeline)->end_us);
  timeline.spans.push_back({"hostb arrival", "RestoringGuest", 6000, 9500, false, ""});
  EXPECT_EQ(blackoutOf(timeline)->begin_us, 2000);
  EXPECT_EQ(blackoutOf(timeline)->end_us, 9500);
  EXPECT_THAT(renderSvg(timeline), HasSubstr("without RDMA 7.5 ms"));
}

TEST(TimelineCurves, are_drawn_on_the_axis_of_the_bars_and_on_one_scale) {
  Timeline timeline{"id", "vm1", "Completed", {{"hosta departure", "Transferring", 0, 2000000, false, ""}}};
  EXPECT_THAT(renderSvg(timeline), Not(HasSubstr("MiB/s")));
  timeline.curves = {{"sent", {{0, 0}, {1000000, 2.0 * 1024 * 1024}, {99000000, 1e300}}},
                     {"<dirtied>", {{1000000, 1024.0 * 1024}}}};
  timeline.curves[0].points.pop_back();
  const std::string svg = renderSvg(timeline);
  EXPECT_THAT(svg, HasSubstr(">2.0 MiB/s</text>"));
  EXPECT_THAT(svg, HasSubstr("M208.0 "));  // the axis' left edge
  EXPECT_THAT(svg, HasSubstr("L558.0 "));  // its middle
  EXPECT_THAT(svg, HasSubstr("&lt;dirtied&gt;"));
}

}  // namespace
}  // namespace rdmove
