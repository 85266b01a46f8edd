// Where each row of a timeline goes on its axis: shared by the text and the SVG renderer, seen by nobody
// else. Pure; holds pointers into the Timeline it was made from, which must outlive it. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/migration/timeline.hpp"

namespace rdmove::timeline {

/// One bar, in milliseconds from the axis' zero. `end` of a running span is the right edge of the axis.
struct Row {
  const TimelineSpan* span = nullptr;
  double begin = 0;
  double end = 0;
  bool running = false;
  double duration() const { return end - begin; }
};

struct Group {
  std::string source;
  std::vector<Row> rows;  ///< by begin
};

struct Layout {
  std::vector<Group> groups;  ///< in the order in which the timeline names them
  double zero_us = 0;         ///< the axis' zero, as the first source's clock has it
  double left = 0;            ///< milliseconds; below zero when a host's clock is behind the first one's
  double right = 1;           ///< always more than left
  double total = 0;           ///< milliseconds from the first begin to the last known end
  std::size_t left_out = 0;   ///< spans over the bound: the shortest ones that did not fail
  bool skewed = false;        ///< something begins before zero
};

/// Zero is the first begin of the source that the timeline names first (the departure).
Layout layOut(const Timeline& timeline, std::size_t max_rows);

/// Round positions from left to right, at most `most` of them, zero among them if it is inside.
std::vector<double> ticks(double left, double right, int most);

/// Milliseconds for people: "0 ms", "250 ms", "1.5 s", "2 min". For the axis.
std::string tickLabel(double milliseconds);
/// Milliseconds with one decimal and thin grouping: "12345.6". For columns.
std::string number(double milliseconds);

/// Text that is safe to show: valid UTF-8 (else U+FFFD), no control characters, at most `columns` code points
/// (cut with an ellipsis).
std::string shown(std::string_view text, std::size_t columns);
/// Code points of valid UTF-8.
std::size_t columnsOf(std::string_view text);

}  // namespace rdmove::timeline
