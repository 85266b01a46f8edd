#include "coordinator/cli/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/timeline_reply.hpp"
#include "coordinator/cli/report/html.hpp"

namespace rdmove::cli {
namespace {

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
  std::string page = pageHead(m.domain(), m.outcome() == "Running" ? "running, in " + m.phase() : m.outcome(),
                              fmt::format("migration {} · {} · partner {} · {}", m.id(), m.role(),
                                          m.partner(), wallTime(m.created_us())));
  if (!m.error().empty()) page += fmt::format("<p class=\"r-error\">{}</p>\n", escaped(m.error()));
  page += tiles(timeline);
  page += "<h2>Timeline</h2>\n<div class=\"r-box\">" + renderSvg(timeline) + "</div>\n";
  if (show.has_plan()) page += planSection(show.plan());
  page += countersSection(show);
  page += stepsSection(show);
  return page + pageFoot();
}

}  // namespace rdmove::cli
