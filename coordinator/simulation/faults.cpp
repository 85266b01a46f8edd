#include "coordinator/simulation/faults.hpp"

#include <fmt/format.h>

#include "coordinator/simulation/live_migration.hpp"

namespace rdmove::simulation {

void Faults::choose() {
  static const Fault kAll[] = {
      {"kill -9", &Faults::kill},
      {"kill -9", &Faults::kill},
      {"kill -9 at a write", &Faults::killAtWrite},
      {"kill -9 at a write", &Faults::killAtWrite},
      {"network cut", &Faults::cutBothWays},
      {"network cut one way", &Faults::cutOneWay},
      {"slow network", &Faults::slowNetwork},
      {"lossy network", &Faults::lossyNetwork},
      {"libvirtd restarted", &Faults::restartLibvirtd},
      {"job aborted by somebody else", &Faults::abortJob},
      {"host loses power", &Faults::losePower},
      {"attach fails", &Faults::failAttach},
      {"attach fails for long", &Faults::failAttachForLong},
      {"unplug", &Faults::troubleUnplug},
      {"holdout at prepare", &Faults::holdAtPrepare},
      {"agents silent", &Faults::silenceAgents},
      {"an agent's answer lost", &Faults::loseAnswer},
      {"guest ends", &Faults::endGuest},
      {"cancel", &Faults::cancel},
      {"disk full", &Faults::fillDisk},
      {"VF driver refuses", &Faults::breakFabric},
      {"a VF cannot be attached", &Faults::breakVf},
  };
  const std::size_t kinds = world_.broken_vfs ? std::size(kAll) : std::size(kAll) - 1;
  const unsigned mood = static_cast<unsigned>(world_.random.below(100));
  const std::uint64_t count = mood < 10   ? 0
                              : mood < 60 ? 1 + world_.random.below(2)
                                          : 3 + world_.random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t which = world_.random.below(kinds);
    const bool power = world_.operators && which % 2 == 0;  // what an operator is for
    const Fault fault = power ? Fault{"host loses power", &Faults::losePower} : kAll[which];
    const std::uint64_t when = world_.random.below(10);
    if (when < 4) {
      at_phase_.emplace(1 + static_cast<unsigned>(world_.random.below(40)), fault);
    } else if (when < 6) {
      at_switch_.emplace(1 + static_cast<unsigned>(world_.random.below(4)), fault);
    } else {
      ++pending_;
      world_.agenda.after(world_.random.between(Duration(0), seconds(25)), [this, fault] {
        --pending_;
        begin(fault);
      });
    }
  }
}

void Faults::begin(const Fault& fault) {
  world_.say(fmt::format("FAULT {}", fault.name));
  (this->*fault.begin)();
}

void Faults::phaseEntered() {
  const auto [first, last] = at_phase_.equal_range(++phases_);
  for (auto each = first; each != last; ++each) begin(each->second);
}

void Faults::switched() {
  const auto [first, last] = at_switch_.equal_range(++switches_);
  for (auto each = first; each != last; ++each) begin(each->second);
}

void Faults::lasting(Duration least, Duration most, std::function<void()> heal) {
  ++pending_;
  world_.agenda.after(world_.random.between(least, most), [this, heal = std::move(heal)] {
    --pending_;
    world_.say("a fault has ended");
    heal();
  });
}

void Faults::kill() {
  Host& host = anyHost();
  if (host.coordinator) host.coordinator->die();
  if (world_.random.percent(40))
    next_fatal_[host.number] = {1 + static_cast<unsigned>(world_.random.below(12)),
                                world_.random.percent(50)};
}

/// Of the next run: its first writes are recovery's, the later ones those of whatever it does then.
void Faults::killAtWrite() {
  Host& host = anyHost();
  next_fatal_[host.number] = {1 + static_cast<unsigned>(world_.random.below(80)), world_.random.percent(50)};
  if (host.coordinator) host.coordinator->die();
}

void Faults::bury(Host& host) {
  world_.say(host.name.str() + ": its rdmoved was killed");
  host.coordinator.reset();
  const CoordinatorProcess::FatalWrite fatal = std::exchange(next_fatal_[host.number], {});
  const Duration longest = world_.random.percent(20) ? Duration(seconds(90)) : Duration(seconds(8));
  lasting(milliseconds(50), longest, [this, &host, fatal] { comeBack(host, fatal); });
}

void Faults::comeBack(Host& host, CoordinatorProcess::FatalWrite fatal) {
  if (host.powered) return start_(host, fatal);
  lasting(seconds(1), seconds(2), [this, &host, fatal] { comeBack(host, fatal); });
}

void Faults::abortJob() {
  world_.agenda.after(Duration(0), [this] {
    const auto transfers = world_.transfers;
    for (const auto& job : transfers) job->abort();
  });
}

void Faults::losePower() {
  Host* lost = &anyHost();
  for (const auto& job : world_.transfers) {
    if (job->inPostcopy()) return;
    if (world_.operators && !job->over()) lost = &job->destination();
  }
  Host& host = *lost;
  if (!host.powered) return;
  world_.agenda.after(Duration(0), [this, &host] { world_.losePower(host); });
  if (world_.operators)
    world_.agenda.after(world_.random.between(seconds(1), seconds(9)), [this, &host] { declareDead(host); });
  lasting(seconds(10), seconds(60), [&host] {
    host.powered = true;
    host.libvirtd_up = true;
    if (host.coordinator) host.coordinator->listener().onConnection(true);
  });
}

/// An operator at the other host sees that this one is off and says so. What may have run there is not resumed
/// from its past: they destroy the paused copy first, as docs/operations.md tells them.
void Faults::declareDead(Host& dead) {
  Host& here = world_.other(dead);
  if (dead.powered || !here.powered || !here.coordinator || !here.libvirtd_up) return;
  CoordinatorProcess& process = *here.coordinator;
  process.post([this, &here, &dead, &process] {
    for (const MigrationRecord& record : process.coordinator().running()) {
      if (!dead.powered) sayDead(here, record);
    }
  });
}

void Faults::sayDead(Host& here, const MigrationRecord& record) {
  for (const Choice& choice : predicamentOf(record).choices) {
    if (choice.word != OperatorWord::kDestinationIsDead) continue;
    const Domain* copy = here.domain(record.uuid);
    if (copy != nullptr && copy->active() && world_.guest(record.uuid)->lives_on != here.number)
      world_.endDomain(here, record.uuid, LifecycleDetail::kOther);
    world_.say(here.name.str() + ": the operator says that " + record.domain + " does not run at the partner");
    (void)here.coordinator->coordinator().resolve(record.id, choice.word);
  }
}

void Faults::decide() {
  for (Host& host : world_.hosts) {
    if (!host.coordinator) continue;
    host.coordinator->post([this, &host] {
      for (const MigrationRecord& record : host.coordinator->coordinator().running()) {
        const bool unknown = record.error.find("has started anew in the middle of the switch") != std::string::npos;
        const Domain* there = world_.other(host).domain(record.uuid);
        if (unknown && (there == nullptr || !there->active())) sayDead(host, record);
      }
    });
  }
}

void Faults::cutBothWays() {
  world_.network.cut = {true, true};
  lasting(milliseconds(100), seconds(60), [this] { world_.network.cut = {false, false}; });
}

void Faults::cutOneWay() {
  world_.network.cut[world_.random.below(2)] = true;
  lasting(milliseconds(100), seconds(60), [this] { world_.network.cut = {false, false}; });
}

void Faults::slowNetwork() {
  world_.network.slowest = world_.random.between(milliseconds(50), seconds(8));
  lasting(seconds(1), seconds(30), [this] { world_.network.slowest = milliseconds(2); });
}

void Faults::lossyNetwork() {
  world_.network.loss_percent = 20 + static_cast<unsigned>(world_.random.below(60));
  lasting(seconds(1), seconds(30), [this] { world_.network.loss_percent = 0; });
}

void Faults::restartLibvirtd() {
  Host& host = anyHost();
  host.libvirtd_up = false;
  // Not from inside the migration's own step.
  world_.agenda.after(Duration(0), [this, &host] {
    const auto transfers = world_.transfers;
    for (const auto& job : transfers) job->libvirtdGone(host);
    if (host.coordinator) host.coordinator->listener().onConnection(false);
  });
  lasting(milliseconds(100), seconds(10), [&host] {
    if (!host.powered) return;
    host.libvirtd_up = true;
    if (host.coordinator) host.coordinator->listener().onConnection(true);
  });
}

void Faults::failAttach() {
  anyHost().troubles.attaches_that_fail += 1 + static_cast<int>(world_.random.below(3));
}

void Faults::failAttachForLong() {
  Host& host = anyHost();
  host.troubles.attaches_that_fail = 1000000;
  lasting(seconds(1), seconds(100), [&host] { host.troubles.attaches_that_fail = 0; });
}

void Faults::troubleUnplug() {
  static const Unplug kWays[] = {Unplug::kIgnored, Unplug::kRefused, Unplug::kHeld};
  GuestTroubles& guest = world_.guest_troubles[anyGuest().uuid];
  guest.unplug = kWays[world_.random.below(std::size(kWays))];
  lasting(seconds(1), seconds(60), [&guest] { guest.unplug = Unplug::kLeaves; });
}

void Faults::holdAtPrepare() {
  GuestTroubles& guest = world_.guest_troubles[anyGuest().uuid];
  guest.holds_at_prepare = true;
  lasting(seconds(1), seconds(30), [&guest] { guest.holds_at_prepare = false; });
}

void Faults::silenceAgents() {
  Host& host = anyHost();
  host.troubles.agents_silent = true;
  lasting(seconds(1), seconds(40), [&host] { host.troubles.agents_silent = false; });
}

void Faults::loseAnswer() {
  world_.guest_troubles[anyGuest().uuid].answer_lost = true;
}

void Faults::endGuest() {
  Guest& guest = anyGuest();
  int copies = 0;
  for (Host& host : world_.hosts) {
    const Domain* domain = host.domain(guest.uuid);
    copies += domain != nullptr && domain->runs() && domain->job != Job::kIncoming ? 1 : 0;
  }
  for (const auto& job : world_.transfers) {
    if (job->inPostcopy()) return;
  }
  if (copies != 1) return;  // paused for its switch, or in two places: it cannot end by itself now
  for (Host& host : world_.hosts) {
    const Domain* domain = host.domain(guest.uuid);
    if (domain == nullptr || !domain->runs() || guest.lives_on != host.number) continue;
    guest.ended = true;
    world_.endDomain(host, guest.uuid, LifecycleDetail::kOther,
                     world_.random.percent(50) ? Lifecycle::kCrashed : Lifecycle::kStopped);
  }
}

void Faults::cancel() {
  for (Host& host : world_.hosts) {
    if (!host.coordinator) continue;
    CoordinatorProcess& process = *host.coordinator;
    process.post([&process] {
      for (const MigrationRecord& record : process.coordinator().running()) {
        if (record.role == Role::kDeparture) (void)process.coordinator().cancel(record.id.str());
      }
    });
  }
}

void Faults::fillDisk() {
  Host& host = anyHost();
  host.troubles.journal_full = true;
  host.sweep_refused = true;  // a sweep forgets what a VF was before, or comes again
  lasting(milliseconds(200), seconds(20), [&host] { host.troubles.journal_full = false; });
}

void Faults::breakFabric() {
  Host& host = anyHost();
  host.troubles.fabric_fails = true;
  lasting(milliseconds(200), seconds(40), [&host] { host.troubles.fabric_fails = false; });
}

void Faults::breakVf() {
  Host& host = anyHost();
  VirtualFunction& vf = host.vfs[world_.random.below(host.vfs.size())];
  vf.unusable = true;
  lasting(seconds(10), seconds(300), [&vf] { vf.unusable = false; });
}

}  // namespace rdmove::simulation
