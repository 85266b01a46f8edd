#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coordinator/migration/timeline_layout.hpp"

namespace rdmove {
namespace {

using timeline::columnsOf;
using timeline::Group;
using timeline::Layout;
using timeline::number;
using timeline::Row;
using timeline::shown;

constexpr std::size_t kMaxRows = 300;
constexpr std::size_t kMaxFailures = 20;
constexpr std::size_t kMaxLabel = 28;

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t have = columnsOf(text);
  return have >= columns ? text : text + std::string(columns - have, ' ');
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// The columns of one picture: "  LABEL │BAR│ BEGIN DURATION".
struct Columns {
  std::size_t label = 8;
  std::size_t bar = 10;
  std::size_t begin = 8;
  std::size_t duration = 11;
};

std::string durationText(const Row& row) {
  if (row.running) return "running";
  return number(row.duration()) + (row.span->failed ? " ✗" : "  ");
}

Columns measure(const Layout& layout, std::size_t width) {
  Columns columns;
  for (const Group& group : layout.groups) {
    for (const Row& row : group.rows) {
      columns.label = std::max(columns.label, columnsOf(shown(row.span->phase, kMaxLabel)));
      columns.begin = std::max(columns.begin, number(row.begin).size());
      columns.duration = std::max(columns.duration, columnsOf(durationText(row)));
    }
  }
  columns.label = std::min(columns.label, std::max<std::size_t>(width / 4, 8));
  const std::size_t fixed = 2 + columns.label + 1 + 2 + 1 + columns.begin + 1 + columns.duration;
  columns.bar = width > fixed + 8 ? width - fixed : 8;
  return columns;
}

std::size_t cell(double at, const Layout& layout, std::size_t cells) {
  const double share = (at - layout.left) / (layout.right - layout.left);
  return static_cast<std::size_t>(
      std::clamp(std::floor(share * static_cast<double>(cells) + 0.5), 0.0, static_cast<double>(cells)));
}

std::string bar(const Row& row, const Layout& layout, std::size_t cells) {
  const std::size_t from = std::min(cell(row.begin, layout, cells), cells - 1);
  const std::size_t to = std::max(cell(row.end, layout, cells), from + 1);
  std::string out(from, ' ');
  // Less than half a cell: a thin mark, so that it is not taken for a whole cell's time.
  const double width = (row.end - row.begin) / (layout.right - layout.left) * static_cast<double>(cells);
  if (row.running) {
    out += repeated("█", to - from - 1) + "▶";
  } else if (row.span->failed) {
    out += repeated("█", to - from - 1) + "✗";
  } else {
    out += width < 0.5 ? "▏" : repeated("█", to - from);
  }
  return padded(out, cells);
}

std::string axis(const Layout& layout, const Columns& columns) {
  std::string line(columns.bar + 2, ' ');
  std::size_t free = 0;
  for (const double at :
       timeline::ticks(layout.left, layout.right, std::max(2, static_cast<int>(columns.bar / 9)))) {
    const std::string label = timeline::tickLabel(at);
    const std::size_t where = 1 + std::min(cell(at, layout, columns.bar), columns.bar - 1);
    if (where < free || where + label.size() > line.size()) continue;
    line.replace(where, label.size(), label);
    free = where + label.size() + 2;
  }
  return line;
}

void addRows(std::string& out, const Layout& layout, const Columns& columns) {
  out += trimmed(fmt::format("{}{}{:>{}} {:>{}}", std::string(columns.label + 3, ' '), axis(layout, columns),
                             "begin ms", columns.begin + 1, "duration  ", columns.duration)) +
         '\n';
  for (const Group& group : layout.groups) {
    out += shown(group.source, columns.label + columns.bar) + '\n';
    for (const Row& row : group.rows) {
      const std::string duration = durationText(row);
      out += trimmed("  " + padded(shown(row.span->phase, columns.label), columns.label) + " │" +
                     bar(row, layout, columns.bar) + "│ " +
                     fmt::format("{:>{}} ", number(row.begin), columns.begin) +
                     std::string(columns.duration - columnsOf(duration), ' ') + duration) +
             '\n';
    }
  }
}

void addFailures(std::string& out, const Layout& layout, std::size_t width) {
  std::size_t said = 0;
  for (const Group& group : layout.groups) {
    for (const Row& row : group.rows) {
      if (!row.span->failed || row.span->detail.empty() || said == kMaxFailures) continue;
      ++said;
      out += shown("✗ " + group.source + " " + row.span->phase + ": " + row.span->detail, width) + '\n';
    }
  }
}

}  // namespace

std::string renderText(const Timeline& timeline, int width) {
  const auto columns = static_cast<std::size_t>(std::clamp(width, 48, 400));
  const Layout layout = timeline::layOut(timeline, kMaxRows);
  std::string out = shown(fmt::format("{}  {}  {}  {} ms", timeline.migration, timeline.domain,
                                      timeline.outcome, number(layout.total)),
                          columns) +
                    '\n';
  if (layout.groups.empty()) return out + "nothing has happened yet\n";
  addRows(out, layout, measure(layout, columns));
  addFailures(out, layout, columns);
  if (layout.left_out != 0) {
    out += shown(fmt::format("{} shorter spans are left out", layout.left_out), columns) + '\n';
  }
  if (layout.skewed) {
    out += shown("Below 0: each host uses its own clock, and that one's is behind.", columns) + '\n';
  }
  return out;
}

}  // namespace rdmove
