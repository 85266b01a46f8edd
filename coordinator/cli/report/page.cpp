#include "coordinator/cli/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/timeline_reply.hpp"
#include "coordinator/migration/markup.hpp"

namespace rdmove::cli {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark}
body{margin:0;font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;color:#1c2430;background:#f5f7fa}
main{max-width:1120px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:32px 0 8px}p{margin:4px 0}
.r-dim{color:#56616f}.r-error{border-left:4px solid #d23b3b;padding:8px 12px;background:#fff;border-radius:4px}
.r-tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.r-tile{background:#fff;border-radius:8px;padding:12px 14px}.r-tile b{display:block;font-size:20px;font-variant-numeric:tabular-nums}
.r-box{background:#fff;border-radius:8px;overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:left;padding:6px 12px;border-bottom:1px solid #e2e7ee;vertical-align:top}th{color:#56616f;font-weight:600;white-space:nowrap}
td.r-n,th.r-n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.r-t{white-space:nowrap;font-variant-numeric:tabular-nums}
tr.r-bad td{color:#b52a2a}svg{display:block}
@media(prefers-color-scheme:dark){
body{color:#e4e9f0;background:#0b0f14}.r-dim,th{color:#93a0b4}.r-tile,.r-box,.r-error{background:#11161d}
th,td{border-color:#2a3340}tr.r-bad td{color:#ff8a8a}}
@media print{body{background:#fff}.r-box{overflow:visible}}
)";

std::string escaped(std::string_view text) {
  return escapedMarkup(printable(std::string(text)));
}

/// Rows of cells that are HTML already.
class HtmlTable {
 public:
  /// A title that begins with '#' is of a column of numbers.
  explicit HtmlTable(std::vector<std::string> titles) : titles_(std::move(titles)) {
    text_ = "<div class=\"r-box\"><table><tr>";
    for (const std::string& title : titles_) {
      const bool number = title[0] == '#';
      text_ +=
          fmt::format("<th{}>{}</th>", number ? " class=\"r-n\"" : "", escaped(title.substr(number ? 1 : 0)));
    }
    text_ += "</tr>\n";
  }
  void add(const std::vector<std::string>& cells, bool bad = false) {
    text_ += bad ? "<tr class=\"r-bad\">" : "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const char* kind = titles_[i][0] == '#'   ? " class=\"r-n\""
                         : titles_[i] == "Time" ? " class=\"r-t\""
                                                : "";
      text_ += fmt::format("<td{}>{}</td>", kind, escaped(cells[i]));
    }
    text_ += "</tr>\n";
  }
  std::string str() const { return text_ + "</table></div>\n"; }

 private:
  std::vector<std::string> titles_;
  std::string text_;
};

std::string inMilliseconds(std::int64_t us) {
  return fmt::format("{:.0f} ms", static_cast<double>(us) / 1000.0);
}

std::string tile(std::string_view value, std::string_view name) {
  return fmt::format("<div class=\"r-tile\"><b>{}</b><span class=\"r-dim\">{}</span></div>\n", escaped(value),
                     name);
}

std::int64_t lastEnd(const Timeline& timeline) {
  std::int64_t last = 0;
  for (const TimelineSpan& span : timeline.spans) last = std::max(last, span.end_us.value_or(span.begin_us));
  return last;
}

std::string tiles(const Timeline& timeline) {
  std::string out = "<div class=\"r-tiles\">\n";
  if (!timeline.spans.empty()) {
    const auto first = std::min_element(timeline.spans.begin(), timeline.spans.end(),
                                        [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; });
    out += tile(inMilliseconds(lastEnd(timeline) - first->begin_us), "in all");
  }
  if (const auto dark = blackoutOf(timeline)) {
    out += tile(dark->end_us ? inMilliseconds(*dark->end_us - dark->begin_us) : "not over",
                "without RDMA, as the hosts saw it");
  }
  for (const TimelineSpan& span : timeline.spans) {
    if (span.phase == "Transferring" && span.end_us)
      out += tile(inMilliseconds(*span.end_us - span.begin_us), "transfer");
  }
  return out + "</div>\n";
}

std::string planSection(const v1::PlanSummary& plan) {
  HtmlTable table({"Device", "Pool", "Model", "Continuity", "MAC", "Guest address", "VF on the source"});
  for (const auto& vf : plan.vfs())
    table.add({vf.alias(), vf.pool(), vf.model(), vf.continuity(), vf.mac(), vf.guest_pci_address(),
               vf.source_vf()});
  return fmt::format("<h2>Plan</h2>\n<p class=\"r-dim\">{} ({}), {}, from {} to {}</p>\n{}",
                     escaped(plan.domain()), escaped(plan.uuid()),
                     plan.persistent() ? "persistent" : "transient", escaped(plan.source()),
                     escaped(plan.destination()), table.str());
}

std::string countersSection(const v1::ShowReply& show) {
  if (show.traffic().empty()) return {};
  std::vector<std::string> titles = {"RDMA port", "Counter"};
  for (const auto& snapshot : show.traffic()) titles.push_back("#" + snapshot.when());
  std::set<std::pair<std::string, std::string>> rows;
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> values;
  for (const auto& snapshot : show.traffic()) {
    for (const auto& device : snapshot.devices()) {
      const std::string port = fmt::format("{}/{}", device.rdma(), device.port());
      for (const auto& [name, value] : device.traffic()) {
        rows.emplace(port, name);
        values[{snapshot.when(), port, name}] = value;
      }
    }
  }
  HtmlTable table(titles);
  for (const auto& [port, name] : rows) {
    std::vector<std::string> cells = {port, name};
    for (const auto& snapshot : show.traffic()) {
      const auto value = values.find({snapshot.when(), port, name});
      cells.push_back(value == values.end() ? "" : std::to_string(value->second));
    }
    table.add(cells);
  }
  return "<h2>What the guest's RDMA ports had counted</h2>\n" + table.str();
}

std::string stepsSection(const v1::ShowReply& show) {
  std::vector<const v1::Step*> steps;
  for (const auto& step : show.steps()) steps.push_back(&step);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto* a, const auto* b) { return a->wall_us() < b->wall_us(); });
  HtmlTable table({"Time", "Where", "Step", "", "What"});
  for (const v1::Step* step : steps)
    table.add({wallTime(step->wall_us()), step->source(), step->step(), step->mark(), step->detail()},
              step->mark() == "failed");
  return "<h2>Steps</h2>\n<p class=\"r-dim\">Each host's are on its own clock.</p>\n" + table.str();
}

TimelineCurve curve(const std::string& name, const v1::ShowReply& show,
                    google::protobuf::uint64 (v1::TransferPoint::*value)() const) {
  TimelineCurve out{name, {}};
  for (const auto& point : show.transfer())
    out.points.emplace_back(point.wall_us(), static_cast<double>((point.*value)()));
  return out;
}

}  // namespace

std::string reportPage(const v1::ShowReply& show, const v1::TimelineReply& reply) {
  const auto& m = show.migration();
  Timeline timeline = timelineOf(reply);
  if (show.transfer_size() > 1) {
    timeline.curves = {curve("sent", show, &v1::TransferPoint::sent_bytes_per_second),
                       curve("dirtied", show, &v1::TransferPoint::dirty_bytes_per_second)};
    timeline.curves[0].points.erase(timeline.curves[0].points.begin());  // nothing before it to be compared with
  }
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{0}: {1}</title>\n<style>{2}</style></head><body><main>\n<h1>{0}: {1}</h1>\n"
      "<p class=\"r-dim\">migration {3} · {4} · partner {5} · {6}</p>\n",
      escaped(m.domain()), escaped(m.outcome() == "Running" ? "running, in " + m.phase() : m.outcome()),
      kStyle, escaped(m.id()), escaped(m.role()), escaped(m.partner()), escaped(wallTime(m.created_us())));
  if (!m.error().empty()) page += fmt::format("<p class=\"r-error\">{}</p>\n", escaped(m.error()));
  page += tiles(timeline);
  page += "<h2>Timeline</h2>\n<div class=\"r-box\">" + renderSvg(timeline) + "</div>\n";
  if (show.has_plan()) page += planSection(show.plan());
  page += countersSection(show);
  page += stepsSection(show);
  return page + "</main></body></html>\n";
}

}  // namespace rdmove::cli
