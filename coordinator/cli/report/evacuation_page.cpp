#include "coordinator/cli/report/evacuation_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/timeline_reply.hpp"
#include "coordinator/cli/report/html.hpp"

namespace rdmove::cli {
namespace {

using Timelines = std::map<std::string, v1::TimelineReply>;

constexpr const char* kDark = "without RDMA, as the hosts saw it";

/// From its first begin to its last end, in the order of the clock.
std::optional<TimelineSpan> wholeOf(const Timelines& timelines, const std::string& migration) {
  const auto found = timelines.find(migration);
  if (found == timelines.end() || found->second.spans().empty()) return std::nullopt;
  TimelineSpan whole;
  whole.begin_us = found->second.spans(0).begin_us();
  std::int64_t end = 0;
  for (const auto& span : found->second.spans()) {
    whole.begin_us = std::min<std::int64_t>(whole.begin_us, span.begin_us());
    end = std::max<std::int64_t>(end, span.end_us());
  }
  if (end != 0) whole.end_us = end;
  return whole;
}

std::optional<TimelineBlackout> darkOf(const Timelines& timelines, const std::string& migration) {
  const auto found = timelines.find(migration);
  return found == timelines.end() ? std::nullopt : blackoutOf(timelineOf(found->second));
}

/// A row a VM, and one for each time that it was tried before.
Timeline timelineOf(const v1::EvacuationSummary& evacuation, const Timelines& timelines) {
  Timeline timeline{evacuation.id(),
                    "Evacuation of " + evacuation.host(),
                    evacuation.outcome() == "Running" ? "running" : evacuation.outcome(),
                    {}};
  const std::string source = "VMs of " + evacuation.host();
  for (const auto& vm : evacuation.vms()) {
    for (const auto& tried : vm.tried()) {
      auto span = wholeOf(timelines, tried.migration());
      if (!span) continue;
      span->source = source;
      span->phase = vm.domain();
      span->failed = true;
      span->detail = fmt::format("to {}: {}", tried.destination(), tried.reason());
      timeline.spans.push_back(*span);
    }
    if (vm.migration().empty() || vm.began_us() == 0) continue;
    TimelineSpan span{source, vm.domain(), vm.began_us(), std::nullopt, false, "to " + vm.destination()};
    if (vm.ended_us() != 0) span.end_us = vm.ended_us();
    span.failed = vm.state() == "stayed" || vm.state() == "degraded";
    if (!vm.reason().empty()) span.detail += ": " + vm.reason();
    timeline.spans.push_back(span);
  }
  for (const auto& vm : evacuation.vms()) {
    const auto dark = darkOf(timelines, vm.migration());
    if (dark) timeline.spans.push_back({kDark, vm.domain(), dark->begin_us, dark->end_us, false, ""});
  }
  return timeline;
}

std::string tiles(const v1::EvacuationSummary& evacuation, const Timelines& timelines) {
  int moved = 0;
  std::int64_t first = 0, last = 0, dark = 0;
  for (const auto& vm : evacuation.vms()) {
    if (vm.state() == "moved") ++moved;
    if (vm.began_us() != 0) first = first == 0 ? vm.began_us() : std::min<std::int64_t>(first, vm.began_us());
    if (vm.began_us() != 0) last = std::max<std::int64_t>(last, vm.ended_us());
    const auto away = darkOf(timelines, vm.migration());
    if (away && away->end_us) dark += *away->end_us - away->begin_us;
  }
  std::string out = "<div class=\"r-tiles\">\n";
  out += tile(fmt::format("{} of {}", moved, evacuation.vms_size()), "VMs have moved");
  if (last > first) out += tile(inMilliseconds(last - first), "in all");
  if (dark != 0) out += tile(inMilliseconds(dark), "without RDMA, of all VMs together");
  return out + "</div>\n";
}

std::string vmsSection(const v1::EvacuationSummary& evacuation, const Timelines& timelines) {
  HtmlTable table({"VM", "Goes to", "", "Time", "#Took", "#Without RDMA", "Peers", "Migration", "Why"});
  for (const auto& vm : evacuation.vms()) {
    const auto dark = darkOf(timelines, vm.migration());
    std::string peers;
    for (const auto& peer : vm.peers()) peers += (peers.empty() ? "" : ", ") + peer;
    std::string why = vm.reason();
    for (const auto& tried : vm.tried())
      why += fmt::format("{}{} was tried before: {}", why.empty() ? "" : "; ", tried.destination(),
                         tried.reason());
    table.add(
        {vm.domain(), vm.destination(), vm.state(), vm.began_us() == 0 ? "" : wallTime(vm.began_us()),
         vm.began_us() != 0 && vm.ended_us() > vm.began_us() ? inMilliseconds(vm.ended_us() - vm.began_us())
                                                             : "",
         dark && dark->end_us ? inMilliseconds(*dark->end_us - dark->begin_us) : "", peers, vm.migration(),
         why},
        vm.state() == "stayed" || vm.state() == "degraded");
  }
  return "<h2>VMs</h2>\n" + table.str();
}

std::string limitsOf(const v1::EvacuationSummary& evacuation) {
  std::string hosts;
  for (const auto& host : evacuation.destinations()) hosts += (hosts.empty() ? "" : ", ") + host;
  std::string text =
      fmt::format("{} · to {} · at most {} at a time", evacuation.id(), hosts, evacuation.max_parallel());
  if (evacuation.per_fabric() != 0) text += fmt::format(", {} of a fabric", evacuation.per_fabric());
  if (evacuation.peers_together()) text += ", peers together";
  return text + " · " + wallTime(evacuation.created_us());
}

}  // namespace

std::string evacuationPage(const v1::EvacuationSummary& evacuation, const Timelines& timelines) {
  std::string page =
      pageHead("Evacuation of " + evacuation.host(),
               evacuation.outcome() == "Running" ? "running" : evacuation.outcome(), limitsOf(evacuation));
  page += tiles(evacuation, timelines);
  page +=
      "<h2>Timeline</h2>\n<div class=\"r-box\">" + renderSvg(timelineOf(evacuation, timelines)) + "</div>\n";
  page += vmsSection(evacuation, timelines);
  return page + pageFoot();
}

}  // namespace rdmove::cli
