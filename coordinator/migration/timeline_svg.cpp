#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "coordinator/migration/timeline_layout.hpp"
#include "coordinator/migration/markup.hpp"

namespace rdmove {
namespace {

using timeline::Group;
using timeline::Layout;
using timeline::number;
using timeline::Row;
using timeline::shown;

constexpr std::size_t kMaxRows = 400;
constexpr int kWidth = 1040;
constexpr int kPlotLeft = 208;
constexpr int kPlotRight = 908;  // durations stand to the right of their bars, the last ones beyond this
constexpr int kTop = 104;
constexpr int kRow = 26;
constexpr int kGroupHead = 34;
constexpr int kBar = 16;
constexpr int kCurves = 150;  // height of the panel of rates
constexpr double kMiB = 1024.0 * 1024.0;

// Plain rules and no CSS variables, so that converters draw it too; the dark ones come second. s0.. are the
// sources.
constexpr std::string_view kStyle = R"(<style>
text{font:12.5px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1c2430}
.h{font-size:19px;font-weight:600}.g{font-weight:600}.num{font-variant-numeric:tabular-nums}
.bg{fill:#fff}.lane{fill:#f5f7fa}.grid{stroke:#e2e7ee}.zero{stroke:#9aa5b5}.dim{fill:#667184}
.s0{fill:#2f6fde;stop-color:#2f6fde}.s1{fill:#12936f;stop-color:#12936f}.s2{fill:#d9822b;stop-color:#d9822b}
.s3{fill:#8a5cd6;stop-color:#8a5cd6}.s4{fill:#c2418c;stop-color:#c2418c}
.failed{fill:#d23b3b;fill-opacity:.2;stroke:#d23b3b;stroke-width:1.5}.bad{fill:#c93333}
.open{fill:none;stroke:#667184;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.dark{fill:#1c2430;fill-opacity:.07}.edge{stroke:#667184;stroke-dasharray:3 3}
.c0,.c1{fill:none;stroke-width:2;stroke-linejoin:round}.c0{stroke:#2f6fde}.c1{stroke:#d9822b;stroke-dasharray:6 4}
.pill.good{fill:#12936f}.pill.bad{fill:#d23b3b}.pill.mid{fill:#667184}.on{fill:#fff;font-weight:600}
@media(prefers-color-scheme:dark){
text{fill:#e4e9f0}.bg{fill:#11161d}.lane{fill:#181f28}.grid{stroke:#2a3340}.zero{stroke:#5d6a7d}.dim{fill:#93a0b4}
.s0{fill:#6ea3ff;stop-color:#6ea3ff}.s1{fill:#3cc79d;stop-color:#3cc79d}.s2{fill:#f2a552;stop-color:#f2a552}
.s3{fill:#b594f5;stop-color:#b594f5}.s4{fill:#ef7fbb;stop-color:#ef7fbb}
.dark{fill:#fff;fill-opacity:.09}.edge{stroke:#93a0b4}.c0{stroke:#6ea3ff}.c1{stroke:#f2a552}
.failed{fill:#ff7272;stroke:#ff7272}.bad{fill:#ff7272}.open{stroke:#93a0b4}
.pill.good{fill:#3cc79d}.pill.bad{fill:#ff7272}.pill.mid{fill:#93a0b4}.on{fill:#11161d}}
</style>
)";

std::string escaped(std::string_view text, std::size_t columns) {
  return escapedMarkup(shown(text, columns));
}

class Picture {
 public:
  Picture(const Timeline& timeline, const Layout& layout) : timeline_(timeline), layout_(layout) {}

  std::string draw() {
    std::size_t rows = 0;
    for (const Group& group : layout_.groups) rows += group.rows.size();
    bottom_ = kTop + static_cast<int>(layout_.groups.size()) * kGroupHead + static_cast<int>(rows) * kRow;
    if (rows == 0) bottom_ += kRow;
    const int rates = rows == 0 || timeline_.curves.empty() ? 0 : kCurves;
    const int height = bottom_ + rates + 44 + 18 * static_cast<int>(notes().size());
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "role=\"img\" "
        "aria-label=\"Timeline of migration {2}\">\n",
        kWidth, height, escaped(timeline_.migration, 120));
    out_ += kStyle;
    fades();
    add("<rect class=\"bg\" width=\"{}\" height=\"{}\"/>\n", kWidth, height);
    heading();
    lanes();
    blackout();
    grid();
    bars();
    if (rates != 0) curves();
    int y = bottom_ + rates + 48;
    for (const std::string& note : notes()) {
      add("<text class=\"dim\" x=\"24\" y=\"{}\">{}</text>\n", y, escaped(note, 140));
      y += 18;
    }
    return out_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  double x(double at) const {
    return kPlotLeft + (at - layout_.left) / (layout_.right - layout_.left) * (kPlotRight - kPlotLeft);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (layout_.groups.empty()) return notes;
    if (layout_.skewed)
      notes.emplace_back("Below 0: each host uses its own clock, and that one's is behind.");
    if (layout_.left_out != 0)
      notes.push_back(fmt::format("{} shorter spans are left out.", layout_.left_out));
    return notes;
  }

  // One gradient a source: a running bar fades out to the right.
  void fades() {
    out_ += "<defs>\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(layout_.groups.size(), 5); ++i) {
      add("<linearGradient id=\"f{0}\"><stop class=\"s{0}\" offset=\".35\"/><stop class=\"s{0}\" "
          "offset=\"1\" stop-opacity=\".15\"/></linearGradient>\n",
          i);
    }
    out_ += "</defs>\n";
  }

  void heading() {
    const std::string outcome = escaped(timeline_.outcome, 24);
    const std::string_view mood = timeline_.outcome == "Completed"                                   ? "good"
                                  : timeline_.outcome == "running" || timeline_.outcome == "Running" ? "mid"
                                                                                                     : "bad";
    const int pill = 26 + 8 * static_cast<int>(timeline::columnsOf(shown(timeline_.outcome, 24)));
    add("<text class=\"h\" x=\"24\" y=\"40\">{}</text>\n", escaped(timeline_.domain, 60));
    add("<text class=\"dim\" x=\"24\" y=\"62\">{} · {} ms</text>\n", escaped(timeline_.migration, 90),
        number(layout_.total));
    if (timeline_.outcome.empty()) return;
    add("<rect class=\"pill {}\" x=\"{}\" y=\"22\" width=\"{}\" height=\"26\" rx=\"13\"/>", mood,
        kWidth - 24 - pill, pill);
    add("<text class=\"on\" x=\"{}\" y=\"39.5\" text-anchor=\"middle\">{}</text>\n", kWidth - 24 - pill / 2.0,
        outcome);
  }

  void lanes() {
    int y = kTop;
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
      const int height = kGroupHead + kRow * static_cast<int>(layout_.groups[i].rows.size());
      if (i % 2 == 0) {
        add("<rect class=\"lane\" x=\"12\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n", y, kWidth - 24,
            height);
      }
      y += height;
    }
  }

  double clamped(double us) const {
    return x(std::clamp((us - layout_.zero_us) / 1000.0, layout_.left, layout_.right));
  }

  void blackout() {
    const auto dark = blackoutOf(timeline_);
    if (!dark || layout_.groups.empty()) return;
    const double from = clamped(static_cast<double>(dark->begin_us));
    const double to = dark->end_us ? clamped(static_cast<double>(*dark->end_us)) : x(layout_.right);
    add("<g><rect class=\"dark\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>", from, kTop,
        to - from, bottom_ - kTop);
    for (const double edge : {from, to})
      add("<line class=\"edge\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>", edge, kTop, bottom_);
    const std::string label =
        dark->end_us ? fmt::format("without RDMA {} ms",
                                   number(static_cast<double>(*dark->end_us - dark->begin_us) / 1000.0))
                     : "without RDMA";
    add("<text class=\"g num\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>\n", (from + to) / 2,
        kTop - 28, label);
  }

  /// All on one scale, since all are bytes a second.
  void curves() {
    double most = 0;
    for (const TimelineCurve& curve : timeline_.curves) {
      for (const auto& [at, value] : curve.points) most = std::max(most, value);
    }
    const double floor = bottom_ + kCurves - 8;
    const double height = kCurves - 62;
    add("<text class=\"g\" x=\"44\" y=\"{}\">transfer</text>", bottom_ + 58);
    add("<text class=\"dim num\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.1f} MiB/s</text>", kPlotLeft - 10,
        floor - height + 4, most / kMiB);
    add("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", kPlotLeft, kPlotRight,
        floor - height);
    add("<line class=\"zero\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", kPlotLeft, kPlotRight,
        floor);
    int legend = bottom_ + 58;
    for (std::size_t i = 0; i < timeline_.curves.size(); ++i) {
      const TimelineCurve& curve = timeline_.curves[i];
      add("<path class=\"c{}\" d=\"", i % 2);
      char verb = 'M';
      for (const auto& [at, value] : curve.points) {
        const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
        add("{}{:.1f} {:.1f}", std::exchange(verb, 'L'), clamped(static_cast<double>(at)),
            floor - share * height);
      }
      add("\"/><line class=\"c{}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", i % 2, kPlotRight + 12,
          kPlotRight + 40, legend - 4, legend - 4);
      add("<text class=\"dim\" x=\"{}\" y=\"{}\">{}</text>\n", kPlotRight + 48, legend,
          escaped(curve.name, 12));
      legend += 20;
    }
  }

  void grid() {
    if (layout_.groups.empty()) {
      add("<text class=\"dim\" x=\"24\" y=\"{}\">Nothing has happened yet.</text>\n", kTop + 8);
      return;
    }
    for (const double at : timeline::ticks(layout_.left, layout_.right, 8)) {
      add("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at == 0 ? "zero" : "grid",
          x(at), x(at), kTop, bottom_ + 6);
      for (const int y : {kTop - 10, bottom_ + 22}) {
        add("<text class=\"dim num\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x(at), y,
            timeline::tickLabel(at));
      }
      out_ += '\n';
    }
  }

  void bars() {
    int y = kTop;
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
      const Group& group = layout_.groups[i];
      const std::size_t colour = i % 5;
      add("<g><circle class=\"s{}\" cx=\"30\" cy=\"{}\" r=\"5\"/>", colour, y + 18);
      add("<text class=\"g\" x=\"44\" y=\"{}\">{}</text>\n", y + 22, escaped(group.source, 60));
      y += kGroupHead;
      for (const Row& row : group.rows) {
        bar(row, colour, y);
        y += kRow;
      }
      out_ += "</g>\n";
    }
  }

  void bar(const Row& row, std::size_t colour, int y) {
    const double from = x(row.begin);
    const double to = std::max(x(row.end), from + 2.5);
    const double top = y + (kRow - kBar) / 2.0;
    const double base = y + 17.5;
    const double radius = std::min(4.0, (to - from) / 2);
    const std::string duration = row.running ? "running" : fmt::format("{} ms", number(row.duration()));
    add("<g><title>{}: begin {} ms, {}{}{}</title>", escaped(row.span->phase, 80), number(row.begin),
        duration, row.span->failed ? ", failed" : "",
        row.span->detail.empty() ? "" : fmt::format("\n{}", escaped(row.span->detail, 400)));
    add("<text x=\"{}\" y=\"{}\">{}</text>", 44, base, escaped(row.span->phase, 22));
    const std::string style = row.span->failed ? "class=\"failed\""
                              : row.running    ? fmt::format("fill=\"url(#f{})\"", colour)
                                               : fmt::format("class=\"s{}\"", colour);
    add("<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"{:.1f}\"/>", style, from, top,
        to - from, kBar, radius);
    if (row.running) {
      add("<path class=\"open\" d=\"M{:.1f} {:.1f}l5 5-5 5\"/>", to + 2, top + 3);
    }
    add("<text class=\"num {}\" x=\"{:.1f}\" y=\"{}\">{}{}</text></g>\n", row.span->failed ? "bad" : "dim",
        to + (row.running ? 14 : 8), base, row.span->failed ? "✗ " : "", duration);
  }

  const Timeline& timeline_;
  const Layout& layout_;
  std::string out_;
  int bottom_ = 0;
};

}  // namespace

std::string renderSvg(const Timeline& timeline) {
  const Layout layout = timeline::layOut(timeline, kMaxRows);
  return Picture(timeline, layout).draw();
}

}  // namespace rdmove
