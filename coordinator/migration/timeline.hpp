// The phases of one migration on one time axis, from both hosts and the guest, and the one renderer of them.
// `rdmove timeline`, its SVG, and later reports all use this. Plain values, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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

/// A rate over the time axis, drawn below the bars by the SVG renderer.
struct TimelineCurve {
  std::string name;  ///< "sent", "dirtied"
  std::vector<std::pair<std::int64_t, double>>
      points;  ///< wall clock of the first host in us, bytes a second
};

struct Timeline {
  std::string migration;
  std::string domain;
  std::string outcome;  ///< "Completed", "RolledBack", "Degraded", "running"
  std::vector<TimelineSpan> spans;
  std::vector<TimelineCurve> curves{};
};

/// From the request to the guest to give its device up, to its word that all is back: the time without RDMA,
/// as the hosts see it (each on its own clock). No end: it still is without.
struct TimelineBlackout {
  std::int64_t begin_us = 0;
  std::optional<std::int64_t> end_us;
};
std::optional<TimelineBlackout> blackoutOf(const Timeline& timeline);

/// A text Gantt of at most `width` columns: one row a span, grouped by source, with begin offset and duration
/// in ms.
std::string renderText(const Timeline& timeline, int width);

/// A self-contained SVG (light and dark by prefers-color-scheme), the same rows.
std::string renderSvg(const Timeline& timeline);

}  // namespace rdmove
