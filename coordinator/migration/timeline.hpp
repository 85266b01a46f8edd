// The phases of one migration on one time axis, from both hosts and the guest, and the one renderer of them.
// `rdmove timeline`, its SVG, and later reports all use this. Plain values, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmove {

/// One bar. Times are microseconds of the wall clock of the host named by `source`.
struct TimelineSpan {
  std::string source;  ///< "hosta departure", "hostb arrival", "guest"
  std::string phase;   ///< "Preflight", "Transfer"
  std::int64_t begin_us = 0;
  std::optional<std::int64_t> end_us;  ///< absent: still running
  bool failed = false;
  std::string detail;
};

struct Timeline {
  std::string migration;
  std::string domain;
  std::string outcome;  ///< "Completed", "RolledBack", "Degraded", "running"
  std::vector<TimelineSpan> spans;
};

/// A text Gantt of at most `width` columns: one row a span, grouped by source, with begin offset and duration
/// in ms.
std::string renderText(const Timeline& timeline, int width);

/// A self-contained SVG (light and dark by prefers-color-scheme), the same rows.
std::string renderSvg(const Timeline& timeline);

}  // namespace rdmove
