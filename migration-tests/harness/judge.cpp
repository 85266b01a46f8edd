#include "migration-tests/harness/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rdmove::harness {
namespace {

class Bench {
 public:
  Bench(const Scenario& scenario, const View& before, const View& after, const Story& story)
      : scenario_(scenario), before_(before), after_(after), story_(story) {}

  std::vector<std::string> verdict() {
    whatHappened();
    oneHost();
    journals();
    if (!scenario_.expect.vm_ends) {
      whole();
      stream();
    }
    vfs();
    ranOnce();
    return std::move(broken_);
  }

 private:
  template <class... A>
  void fail(fmt::format_string<A...> text, A&&... arguments) {
    broken_.push_back(fmt::format(text, std::forward<A>(arguments)...));
  }

  void whatHappened() {
    if (!story_.trouble.empty()) fail("the harness could not do its part: {}", story_.trouble);
    for (const std::string& fault : story_.not_reached)
      fail("this never came to pass, so nothing is shown by it: {}", fault);
    if (!story_.over) fail("after {} s it is not over", scenario_.limit.count());
    std::vector<std::string> allowed = scenario_.expect.outcomes;
    if (allowed.empty()) allowed = {"Completed", "RolledBack", "Refused"};
    if (scenario_.expect.vm_ends && scenario_.expect.outcomes.empty()) allowed.emplace_back("Withdrawn");
    const std::string outcome = story_.outcome.empty() ? "Refused" : story_.outcome;
    if (std::find(allowed.begin(), allowed.end(), outcome) == allowed.end())
      fail("the outcome is {}, not {}", outcome, fmt::join(allowed, " or "));
    if (scenario_.expect.degraded && !story_.degraded) fail("neither host said Degraded on the way");
    for (const std::string& text : scenario_.expect.noted) {
      const bool noted = std::any_of(story_.notes.begin(), story_.notes.end(), [&](const std::string& note) {
        return note.find(text) != std::string::npos;
      });
      if (!noted) fail("no journal has noted \"{}\", so it never came to what is to be shown", text);
    }
    command(outcome);
  }

  /// Exit codes: docs/cli.md. A command that lost its daemon says 6, whatever came of the migration.
  void command(const std::string& outcome) {
    if (story_.command_killed) return;
    const int status = story_.command_status;
    const bool agrees = status == 6 || status == 5 || (status == 0 && outcome == "Completed") ||
                        (status == 4 && outcome == "RolledBack") || (status == 3 && outcome == "Refused");
    if (!agrees) fail("rdmove migrate ended with status {}, and the migration is {}", status, outcome);
    if (status == 5 && !story_.degraded)
      fail("rdmove migrate says that it is Degraded (5), and no host ever was");
  }

  /// Rule 1. Where it must be follows from the outcome, so a wrong word of the journal (rule 4) shows here
  /// too.
  void oneHost() {
    const bool at_destination = story_.outcome == "Completed" || scenario_.expect.vm_ends;
    const HostView& home = at_destination ? after_.destination : after_.source;
    const HostView& other = at_destination ? after_.source : after_.destination;
    if (!other.state.empty())
      fail("{} still has the VM: {}; the journal says {}", other.name, other.state, story_.outcome);
    if (scenario_.expect.vm_ends) {
      if (home.runs()) fail("the VM was ended, and runs on {} again", home.name);
    } else if (!home.runs()) {
      fail("the VM does not run on {}, where the journal ({}) has it: {}", home.name, story_.outcome,
           home.state.empty() ? "there is no such domain" : home.state);
    }
    const auto expected = scenario_.expect.runs_on;
    if (expected && (*expected == Side::kDestination) != at_destination)
      fail("it should run on the {}", toString(*expected));
  }

  const HostView& home() const { return after_.destination.runs() ? after_.destination : after_.source; }

  /// Rule 2.
  void whole() {
    const HostView& host = home();
    if (host.live != before_.source.live)
      fail("the live devices are {}; they were {}", text(host.live), text(before_.source.live));
    if (host.persistent != before_.source.persistent)
      fail("the VM is {}persistent, and was not so", host.persistent ? "" : "not ");
    if (host.persistent && host.defined != before_.source.defined)
      fail("the devices in its definition are {}; they were {}", text(host.defined),
           text(before_.source.defined));
    if (host.metadata != before_.source.metadata)
      fail("its metadata is {}; it was {}", host.metadata, before_.source.metadata);
    if (!after_.guest.answers) return fail("the guest does not answer");
    if (after_.guest.addresses != before_.guest.addresses)
      fail("the guest's addresses are {}; they were {}", fmt::join(after_.guest.addresses, ", "),
           fmt::join(before_.guest.addresses, ", "));
    if (!after_.guest.rdma_active) fail("the guest has no active RDMA device");
  }

  /// Rule 3, of what the VM's own migrations left.
  void journals() {
    for (const HostView* host : {&after_.source, &after_.destination}) {
      if (!host->journal_read) fail("the journal of {} cannot be read", host->name);
      for (const std::string& lease : host->leases) fail("{} still has a lease: {}", host->name, lease);
      for (const std::string& row : host->unfinished)
        fail("{} has an unfinished migration: {}", host->name, row);
    }
  }

  /// Rule 3, of VFs: who has them on each host.
  void vfs() {
    for (const HostView* host : {&after_.source, &after_.destination}) {
      std::size_t attached = 0;
      for (const VfView& vf : host->vfs) {
        if (vf.state == "leased") fail("{} of {} is leased to {}", vf.name, host->name, vf.domain);
        if (vf.domain == scenario_.vm) ++attached;
      }
      const std::size_t due = host->runs() ? before_.source.live.size() : 0;
      // A definition keeps its claim while the domain is off.
      if (scenario_.expect.vm_ends && !host->state.empty()) continue;
      if (attached != due) fail("{} VFs of {} are the VM's, and {} should be", attached, host->name, due);
    }
  }

  /// Rule 5: both ends count, and checked every byte.
  void stream() {
    const LoadView& load = after_.load;
    if (!load.answers || !after_.peer_load.answers) return fail("the load does not say how it is");
    if (load.up != load.connections || load.connections == 0)
      fail("{} of {} connections are up", load.up, load.connections);
    if (load.delivered <= before_.load.delivered) fail("no message came through since the move");
    for (const auto& [who, now] : {std::pair{"VM", &load}, {"peer", &after_.peer_load}}) {
      const bool clean = now->lost + now->duplicated + now->reordered + now->corrupted == 0;
      if (!clean)
        fail("the {} counts lost {}, duplicated {}, reordered {}, corrupted {}", who, now->lost,
             now->duplicated, now->reordered, now->corrupted);
    }
  }

  /// Rule 1, in time: what the guest did on one host it did not do on the other as well.
  void ranOnce() {
    const std::vector<long> both = doubledTicks(after_);
    if (both.size() > static_cast<std::size_t>(scenario_.expect.doubled_ticks))
      fail("the guest ran on both hosts for {} ticks ({} to {}), {} are allowed", both.size(), both.front(),
           both.back(), scenario_.expect.doubled_ticks);
  }

  static std::string text(const Devices& devices) {
    std::string all;
    for (const auto& [alias, device] : devices)
      all += fmt::format("{}{} {} time(s), {} at {}", all.empty() ? "" : "; ", alias, device.count,
                         device.identity.empty() ? "-" : device.identity, device.guest_address);
    return all;
  }

  const Scenario& scenario_;
  const View& before_;
  const View& after_;
  const Story& story_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<long> doubledTicks(const View& view) {
  std::vector<long> both;
  std::set_intersection(view.source.ticks.begin(), view.source.ticks.end(), view.destination.ticks.begin(),
                        view.destination.ticks.end(), std::back_inserter(both));
  return both;
}

std::vector<std::string> judge(const Scenario& scenario, const View& before, const View& after,
                               const Story& story) {
  return Bench(scenario, before, after, story).verdict();
}

}  // namespace rdmove::harness
