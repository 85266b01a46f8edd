// Evacuations by the real coordinators on two simulated hosts, in virtual time: limits, peers, a destination
// that is too small, and a daemon that is killed at each of its writes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <set>

#include "coordinator/simulation/coordinator_process.hpp"
#include "coordinator/simulation/invariants.hpp"
#include "coordinator/simulation/live_migration.hpp"
#include "coordinator/simulation/many.hpp"
#include "coordinator/simulation/tests/place.hpp"

namespace rdmove::simulation {
namespace {

using evacuation::Member;
using testing::HasSubstr;

constexpr std::size_t kGuests = 3;

/// A world with three guests, all on hosta.
std::unique_ptr<World> fullHost() {
  for (std::uint64_t seed = 1;; ++seed) {
    auto world = std::make_unique<World>(seed);
    const bool all = std::all_of(world->guests.begin(), world->guests.end(),
                                 [](const Guest& guest) { return guest.first_host == 0; });
    if (world->guests.size() == kGuests && all) return world;
  }
}

/// Two daemons, started again when they are killed.
class Yard {
 public:
  Yard() {
    world->broken = [this](const Violation& violation) {
      violations.push_back(violation.rule + ": " + violation.what);
    };
    world->at_switch = [] {};
  }
  ~Yard() {
    for (Host& host : world->hosts) host.coordinator.reset();
  }
  Yard(const Yard&) = delete;
  Yard& operator=(const Yard&) = delete;

  void start(CoordinatorProcess::FatalWrite fatal = {}) {
    for (Host& host : world->hosts)
      startHost(host, host.number == 0 ? fatal : CoordinatorProcess::FatalWrite{});
  }
  Host& hosta() { return world->hosts[0]; }

  void evacuate(evacuation::Limits limits) {
    evacuation::Request request;
    request.limits = limits;
    hosta().coordinator->post([this, request] {
      hosta().coordinator->evacuations().begin(
          request, [this](Result<Evacuations::Begun> answer) { begun = std::move(answer); });
    });
  }

  /// Until the evacuation that hosta's journal has is over and nothing moves; false: never.
  bool untilOver() {
    while (world->agenda.now() < Duration(seconds(2000))) {
      pump();
      if (hosta().coordinator && !hosta().coordinator->dying() && over()) return true;
      if (!world->agenda.step()) return false;
    }
    return false;
  }
  std::optional<Evacuations::Account> account() {
    const auto all = hosta().coordinator->evacuations().list();
    if (!all || all->empty()) return std::nullopt;
    auto known = hosta().coordinator->evacuations().account(all->front().id);
    return known ? std::optional(std::move(*known)) : std::nullopt;
  }

  std::unique_ptr<World> world = fullHost();
  std::optional<Result<Evacuations::Begun>> begun;
  std::vector<std::string> violations;
  std::size_t most_at_once = 0;
  std::set<std::set<std::string>> together;  ///< every set of guests that moved at the same time
  int starts = 0;

 private:
  void startHost(Host& host, CoordinatorProcess::FatalWrite fatal) {
    ++starts;
    CoordinatorProcess::Hooks hooks;
    hooks.entered = [this](const MigrationId& id, Role role, const std::string&) {
      if (role != Role::kDeparture) return;
      moving_.insert(id.str());
      most_at_once = std::max(most_at_once, moving_.size());
      std::set<std::string> names;
      for (const std::string& each : moving_) names.insert(each.substr(0, each.find('-')));
      together.insert(names);
    };
    hooks.ended = [this](const MigrationId& id, Role role, Outcome outcome) {
      if (role == Role::kDeparture && isFinished(outcome)) moving_.erase(id.str());
    };
    host.coordinator = std::make_unique<CoordinatorProcess>(
        *world, host,
        CoordinatorProcess::JournalFile{place_.path() / (host.name.str() + ".db"), Room::kPlenty}, fatal,
        std::move(hooks));
  }
  void pump() {
    for (bool more = true; more;) {
      more = false;
      for (Host& host : world->hosts) {
        if (host.coordinator && host.coordinator->dying()) {
          host.coordinator.reset();
          world->agenda.after(seconds(1), [this, &host] { startHost(host, {}); });
        }
        if (host.coordinator) more = host.coordinator->runReady() || more;
      }
    }
  }
  bool over() {
    for (Host& host : world->hosts) {
      if (!host.coordinator || !host.coordinator->coordinator().running().empty()) return false;
    }
    const auto known = account();
    return known ? known->record.outcome != EvacuationOutcome::kRunning : starts > 2 || (begun && !*begun);
  }

  Place place_;
  std::set<std::string> moving_;
};

class EvacuationSimulation : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    spdlog::set_level(spdlog::level::off);
    quickenSqlite();
  }
  static std::size_t livingOn(World& world, int host) {
    return static_cast<std::size_t>(
        std::count_if(world.guests.begin(), world.guests.end(), [&](const Guest& guest) {
          const Domain* domain = world.hosts[static_cast<std::size_t>(host)].domain(guest.uuid);
          return domain != nullptr && domain->runs() && domain->device.has_value();
        }));
  }
  static std::string reasons(Yard& yard) {
    const auto account = yard.account();
    std::string all;
    for (const Member& member : account->members) {
      for (const auto& each : member.tried) all += member.row.domain + " was tried: " + each.reason + "\n";
      all += fmt::format("{} {}: {}\n", member.row.domain, toString(member.row.state), member.row.reason);
    }
    return all;
  }
};

TEST_F(EvacuationSimulation, empties_the_host_two_at_a_time) {
  Yard yard;
  yard.start();
  yard.evacuate({2, 0, false});
  ASSERT_TRUE(yard.untilOver());
  EXPECT_EQ(yard.account()->record.outcome, EvacuationOutcome::kCompleted);
  EXPECT_EQ(livingOn(*yard.world, 1), kGuests);
  EXPECT_EQ(yard.most_at_once, 2U);
  EXPECT_TRUE(yard.violations.empty());
}

TEST_F(EvacuationSimulation, moves_one_of_a_fabric_at_a_time_when_asked) {
  Yard yard;
  yard.start();
  yard.evacuate({3, 1, false});
  ASSERT_TRUE(yard.untilOver());
  EXPECT_EQ(livingOn(*yard.world, 1), kGuests);
  EXPECT_EQ(yard.most_at_once, 1U);
}

TEST_F(EvacuationSimulation, peers_that_the_guests_name_do_not_move_together) {
  Yard yard;
  yard.world->guests[0].talks_to = yard.world->guests[1].ip;
  yard.start();
  yard.evacuate({3, 0, false});
  ASSERT_TRUE(yard.untilOver());
  EXPECT_EQ(livingOn(*yard.world, 1), kGuests);
  EXPECT_EQ(yard.most_at_once, 2U);
  for (const auto& names : yard.together) EXPECT_FALSE(names.count("vm0") != 0 && names.count("vm1") != 0);
}

TEST_F(EvacuationSimulation, peers_move_together_when_asked) {
  Yard yard;
  yard.world->guests[0].talks_to = yard.world->guests[1].ip;
  yard.start();
  yard.evacuate({3, 0, true});
  ASSERT_TRUE(yard.untilOver());
  EXPECT_EQ(yard.most_at_once, 3U);
}

TEST_F(EvacuationSimulation, who_finds_no_vf_stays_as_it_was) {
  Yard yard;
  yard.world->hosts[1].vfs.resize(2);
  yard.start();
  yard.evacuate({2, 0, false});
  ASSERT_TRUE(yard.untilOver());
  EXPECT_EQ(yard.account()->record.outcome, EvacuationOutcome::kIncomplete);
  EXPECT_EQ(livingOn(*yard.world, 1), 2U);
  EXPECT_EQ(livingOn(*yard.world, 0), 1U);
  EXPECT_THAT(reasons(yard), HasSubstr("pool fabric has 0 VFs free, 1 needed"));
}

TEST_F(EvacuationSimulation, a_second_one_is_refused_while_the_first_runs) {
  Yard yard;
  yard.start();
  yard.evacuate({1, 0, false});
  std::optional<Error> refused;
  yard.world->agenda.after(seconds(1), [&] {
    yard.hosta().coordinator->post([&] {
      yard.hosta().coordinator->evacuations().begin({}, [&](const Result<Evacuations::Begun>& answer) {
        if (!answer) refused = answer.error();
      });
    });
  });
  ASSERT_TRUE(yard.untilOver());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, ErrorCode::kConflict);
  EXPECT_THAT(refused->sentence(), HasSubstr("rdmove watch evacuation-hosta-"));
}

TEST_F(EvacuationSimulation, wrong_destinations_are_refused_by_name) {
  Yard yard;
  yard.start();
  std::vector<std::string> refused;
  for (const char* name : {"hosta", "nowhere"}) {
    evacuation::Request request;
    request.destinations = {HostName(name)};
    yard.hosta().coordinator->evacuations().plan(request, [&](const Result<Evacuations::Draft>& draft) {
      refused.push_back(draft ? "accepted" : draft.error().sentence());
    });
  }
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_THAT(refused[0], HasSubstr("hosta is this host"));
  EXPECT_THAT(refused[1], HasSubstr("nowhere"));
}

// Wherever the daemon dies, the evacuation that it had journaled goes on, and every VM is whole at the end.
TEST_F(EvacuationSimulation, goes_on_after_a_kill_at_any_write) {
  unsigned went_on = 0;
  for (unsigned write = 1; write <= 120; ++write) {
    SCOPED_TRACE(fmt::format("killed at write {}", write));
    Yard yard;
    yard.start({write, write % 2 == 0});
    yard.evacuate({2, 0, false});
    ASSERT_TRUE(yard.untilOver());
    EXPECT_TRUE(yard.violations.empty()) << yard.violations.front();
    EXPECT_EQ(livingOn(*yard.world, 0) + livingOn(*yard.world, 1), kGuests);
    if (!yard.account()) continue;  // it was not journaled: nothing had begun
    EXPECT_EQ(yard.account()->record.outcome, EvacuationOutcome::kCompleted) << reasons(yard);
    EXPECT_EQ(livingOn(*yard.world, 1), kGuests);
    EXPECT_LE(yard.most_at_once, 2U);
    if (yard.starts > 2) ++went_on;
  }
  EXPECT_GT(went_on, 40U) << "too few kills came into an evacuation";
}

}  // namespace
}  // namespace rdmove::simulation
