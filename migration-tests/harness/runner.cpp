#include "migration-tests/harness/runner.hpp"

#include <fmt/format.h>

#include <future>
#include <nlohmann/json.hpp>

#include "migration-tests/harness/load.hpp"
#include "migration-tests/harness/within.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

/// Until then librdmove has its connections again, or will not have them.
constexpr seconds kFlows{60};

Timeline timelineOf(const Host& host, const std::string& id) {
  Timeline timeline;
  timeline.migration = id;
  const auto reply =
      nlohmann::json::parse(text(host.on(host.rdmoveWords() + "timeline " + id + " --json")), nullptr, false);
  if (!reply.is_object()) return timeline;
  const auto migration = reply.value("migration", nlohmann::json::object());
  timeline.domain = migration.value("domain", "");
  timeline.outcome = migration.value("outcome", "");
  for (const auto& span : reply.value("spans", nlohmann::json::array())) {
    TimelineSpan& added = timeline.spans.emplace_back();
    added.source = span.value("source", "");
    added.phase = span.value("phase", "");
    // 64-bit numbers are texts there (docs/json.md).
    added.begin_us = std::stoll(span.value("begin_us", "0"));
    if (const auto end = std::stoll(span.value("end_us", "0")); end != 0) added.end_us = end;
    added.failed = span.value("failed", false);
    added.detail = span.value("detail", "");
  }
  return timeline;
}

/// What that host's journal has noted, of both hosts as far as it was told.
std::vector<std::string> notesOf(const Host& host, const std::string& id) {
  std::vector<std::string> notes;
  const auto shown =
      nlohmann::json::parse(text(host.on(host.rdmoveWords() + "show " + id + " --json")), nullptr, false);
  if (!shown.is_object()) return notes;
  for (const auto& step : shown.value("steps", nlohmann::json::array())) {
    const std::string mark = step.value("mark", "");
    if (mark == "note" || mark == "failed")
      notes.push_back(fmt::format("{} {} {}: {}", step.value("source", ""), step.value("step", ""), mark,
                                  step.value("detail", "")));
  }
  return notes;
}

}  // namespace

ScenarioResult Runner::run(const Scenario& scenario) {
  const auto began = std::chrono::steady_clock::now();
  ScenarioResult result;
  result.scenario = scenario;
  for (const Fault& fault : scenario.faults) {
    if (result.why_skipped = whyNot(fault, site_); result.why_skipped.empty()) continue;
    result.verdict = Verdict::kSkipped;
    return result;
  }
  Cast cast;
  View before;
  if (const std::string why = getReady(scenario, cast, before); !why.empty()) {
    result.broken.push_back("the scenario can't begin: " + why);
    return result;
  }
  result.from = cast.source->name;
  result.to = cast.destination->name;
  MigrationRun migration(scenario, cast, options_, tell_);
  Story story = migration.run();
  if (!migration.id().empty()) story.notes = notesOf(*cast.source, migration.id());
  LoadRun load(*cast.vm, *cast.peer, scenario.load);
  // Lost traffic is a broken rule, which the judge sees in the counters.
  if (!scenario.expect.vm_ends) (void)load.flows(kFlows);
  View after = lookAll(cast);
  after.load = load.client();
  result.broken = judge(scenario, before, after, story);
  result.verdict = result.broken.empty() ? Verdict::kPassed : Verdict::kFailed;
  result.migration = migration.id();
  result.outcome = story.outcome;
  result.events = migration.events();
  if (!migration.id().empty()) result.timeline = timelineOf(*cast.source, migration.id());
  for (TimelineSpan& span : migration.faultSpans()) result.timeline.spans.push_back(std::move(span));
  result.notes = story.notes;
  result.doubled_ticks = doubledTicks(after).size();
  result.longest_blackout = std::chrono::microseconds(after.load.longest_blackout_us);
  result.took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  return result;
}

std::string Runner::getReady(const Scenario& scenario, Cast& cast, View& before) {
  const auto vm = site_.guests.find(scenario.vm);
  const auto peer = site_.guests.find(scenario.peer);
  if (vm == site_.guests.end() || peer == site_.guests.end())
    return fmt::format("there is no guest {} here", vm == site_.guests.end() ? scenario.vm : scenario.peer);
  cast.site = &site_;
  cast.vm = &vm->second;
  cast.peer = &peer->second;
  cast.vm_name = scenario.vm;
  if (std::string why = makeWhole(scenario, cast, before); !why.empty()) return why;
  LoadRun load(*cast.vm, *cast.peer, scenario.load);
  if (std::string why = load.start(); !why.empty()) return why;
  before.load = load.client();
  marks_ = markConsoles(site_, console_);
  return "";
}

std::string Runner::makeWhole(const Scenario& scenario, Cast& cast, View& before) {
  std::string why;
  // Just after a scenario something may be on its way still.
  if (within(seconds(3), [&] { return (why = tryWhole(scenario, cast, before)).empty(); })) return "";
  if (site_.remake.empty()) return why;
  tell_("          made anew: " + why);
  Words remake = site_.remake;
  for (std::string& word : remake)
    for (std::size_t at = 0; (at = word.find("@VM@", at)) != std::string::npos;)
      word.replace(at, 4, scenario.vm);
  const Ended made = harness::run(remake, seconds(240));
  if (!made.ok()) return fmt::format("{} can't be made anew: {}", scenario.vm, made.output);
  within(seconds(30), [&] { return (why = tryWhole(scenario, cast, before)).empty(); });
  return why;
}

std::string Runner::tryWhole(const Scenario& scenario, Cast& cast, View& before) {
  cast.source = nullptr;
  for (const Host& host : site_.hosts) {
    const std::string state = domainState(host, scenario.vm);
    if (state == "running" && cast.source == nullptr) {
      cast.source = &host;
    } else if (!state.empty()) {
      return fmt::format("{} is {} on {}", scenario.vm, state, host.name);
    }
  }
  if (cast.source == nullptr) return fmt::format("{} runs on neither host", scenario.vm);
  cast.destination = cast.source == &site_.hosts[0] ? &site_.hosts[1] : &site_.hosts[0];

  const std::string xml = liveXml(*cast.source, scenario.vm);
  aliases_ = movingAliases(xml);
  devices_ = devicesOf(xml, aliases_);
  if (aliases_.empty()) return fmt::format("the metadata of {} names no device: rdmove define", scenario.vm);
  uuid_ = text(cast.source->on(cast.source->virsh() + "domuuid '" + scenario.vm + "'"));
  console_ = consoleLog(xml);
  marks_.clear();
  before = lookAll(cast);
  for (const HostView* host : {&before.source, &before.destination}) {
    if (!host->unfinished.empty())
      return host->name + " has an unfinished migration: " + host->unfinished.front();
    if (!host->leases.empty()) return host->name + " has a lease: " + host->leases.front();
  }
  for (const auto& [alias, device] : before.source.live) {
    if (device.count != 1) return fmt::format("{} has {} {} times", scenario.vm, alias, device.count);
    cast.alias = alias;
    cast.guest_address = device.guest_address;
  }
  if (!before.guest.answers) return fmt::format("the guest {} does not answer", scenario.vm);
  return before.guest.rdma_active ? "" : fmt::format("the guest {} has no active RDMA device", scenario.vm);
}

View Runner::lookAll(const Cast& cast) {
  const auto at = [&](const Host& host) {
    const auto mark = marks_.find(host.name);
    const bool counted = mark != marks_.end();
    return look({&host, cast.vm_name, uuid_, aliases_, counted ? console_ : "", counted ? mark->second : 0});
  };
  // Beside one another, since each waits for its commands most of the time.
  auto destination = std::async(std::launch::async, at, std::cref(*cast.destination));
  auto guest = std::async(std::launch::async, lookInside, std::cref(*cast.vm), std::cref(devices_));
  auto peer = std::async(std::launch::async, [&] { return LoadRun(*cast.vm, *cast.peer, {}).server(); });
  View view;
  view.source = at(*cast.source);
  view.destination = destination.get();
  view.guest = guest.get();
  view.peer_load = peer.get();
  return view;
}

}  // namespace rdmove::harness
