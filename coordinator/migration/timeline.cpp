#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "coordinator/migration/timeline_layout.hpp"

namespace rdmove::timeline {
namespace {

// In double from the start: a wall clock in microseconds fits 53 bits, and hostile values cannot overflow.
double milliseconds(std::int64_t us, double zero_us) {
  return (static_cast<double>(us) - zero_us) / 1000.0;
}

double lastKnown(const TimelineSpan& span) {
  return static_cast<double>(std::max(span.begin_us, span.end_us.value_or(span.begin_us)));
}

/// The spans to show: all, or when there are too many the failed, the running and the longest.
std::vector<const TimelineSpan*> choose(const std::vector<TimelineSpan>& spans, std::size_t max_rows) {
  std::vector<const TimelineSpan*> chosen;
  chosen.reserve(spans.size());
  for (const TimelineSpan& span : spans) chosen.push_back(&span);
  if (chosen.size() <= max_rows) return chosen;
  const auto weight = [](const TimelineSpan* span) {
    if (span->failed || !span->end_us) return std::numeric_limits<double>::infinity();
    return lastKnown(*span) - static_cast<double>(span->begin_us);
  };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const auto* a, const auto* b) { return weight(a) > weight(b); });
  chosen.resize(max_rows);
  std::sort(chosen.begin(), chosen.end());  // the timeline's own order again: they point into one vector
  return chosen;
}

/// Length of the valid UTF-8 sequence at the start of text, 0 if there is none.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  char32_t value = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    value = (value << 6U) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool no_character = (value >= 0xd800 && value < 0xe000) || value > 0x10ffff || value == 0xfffe ||
                            value == 0xffff || (value >= 0x80 && value < 0xa0);
  return overlong || no_character ? 0 : length;
}

}  // namespace

Layout layOut(const Timeline& timeline, std::size_t max_rows) {
  Layout layout;
  if (timeline.spans.empty()) return layout;

  double zero = std::numeric_limits<double>::infinity();
  double first = zero;
  double last = -zero;
  bool running = false;
  for (const TimelineSpan& span : timeline.spans) {
    const auto begin = static_cast<double>(span.begin_us);
    if (span.source == timeline.spans.front().source) zero = std::min(zero, begin);
    first = std::min(first, begin);
    last = std::max(last, lastKnown(span));
    running = running || !span.end_us;
  }
  layout.zero_us = zero;
  layout.total = (last - first) / 1000.0;
  layout.left = (first - zero) / 1000.0;
  layout.skewed = first < zero;
  layout.right = (last - zero) / 1000.0;
  if (running) layout.right += std::max(layout.total * 0.05, 0.001);
  if (layout.right <= layout.left) layout.right = layout.left + 1.0;

  const auto chosen = choose(timeline.spans, max_rows);
  layout.left_out = timeline.spans.size() - chosen.size();
  std::map<std::string_view, std::size_t> known;
  for (const TimelineSpan* span : chosen) {
    const auto [at, fresh] = known.try_emplace(span->source, layout.groups.size());
    if (fresh) layout.groups.push_back({span->source, {}});
    const double begin = milliseconds(span->begin_us, zero);
    const double end = span->end_us ? std::max(begin, milliseconds(*span->end_us, zero)) : layout.right;
    layout.groups[at->second].rows.push_back({span, begin, end, !span->end_us});
  }
  for (Group& group : layout.groups) {
    std::stable_sort(group.rows.begin(), group.rows.end(),
                     [](const Row& a, const Row& b) { return a.begin < b.begin; });
  }
  return layout;
}

std::vector<double> ticks(double left, double right, int most) {
  const double rough = (right - left) / std::max(most, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> at;
  const double begin = std::ceil(left / step - 1e-9);
  for (int i = 0; i <= most + 1; ++i) {
    const double value = (begin + i) * step;
    if (value > right + step * 1e-9) break;
    at.push_back(value == 0 ? 0.0 : value);  // no "-0"
  }
  return at;
}

std::string tickLabel(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1000) return fmt::format("{:.4g} ms", value);
  if (size < 120e3) return fmt::format("{:.4g} s", value / 1000);
  if (size < 7200e3) return fmt::format("{:.4g} min", value / 60e3);
  return fmt::format("{:.4g} h", value / 3600e3);
}

std::string number(double value) {
  const std::string text = fmt::format("{:.1f}", value);
  return text == "-0.0" ? "0.0" : text;
}

std::size_t columnsOf(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string shown(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  std::size_t cut = 0;  // where the ellipsis goes if it does not fit
  while (!text.empty()) {
    if (used + 1 == columns) cut = out.size();
    if (used == columns) {
      out.resize(cut);
      return columns == 0 ? out : out + "…";
    }
    const std::size_t length = sequence(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (lead < 0x20 || lead == 0x7f) {
      out += ' ';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
    ++used;
  }
  return out;
}

}  // namespace rdmove::timeline

namespace rdmove {

std::optional<TimelineBlackout> blackoutOf(const Timeline& timeline) {
  std::optional<TimelineBlackout> blackout;
  for (const TimelineSpan& span : timeline.spans) {
    if (span.phase == "Unplugging" && (!blackout || span.begin_us < blackout->begin_us))
      blackout = TimelineBlackout{span.begin_us, std::nullopt};
  }
  if (!blackout) return blackout;
  for (const TimelineSpan& span : timeline.spans) {
    if (span.phase != "RestoringGuest" || span.failed || !span.end_us) continue;
    if (*span.end_us > blackout->end_us.value_or(blackout->begin_us)) blackout->end_us = span.end_us;
  }
  return blackout;
}

}  // namespace rdmove
