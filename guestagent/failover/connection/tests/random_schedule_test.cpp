// Whatever befalls two connected machines, in any order and twice: owners are told in a legal order, and once
// the world is whole again, they are connected again.
#include <rapidcheck.h>

#include "guestagent/failover/connection/tests/connection_fixture.hpp"
#include "guestagent/failover/connection/tests/schedules.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class Fate {
  RemoveDevice,
  AddDevice,
  FailDevice,
  BreakQueue,
  FailQueue,
  Disconnect,
  LoseRequest,
  LoseAnswer,
  Restart,
  Send,
  Hold,
  Unhold,
  WayAppears,
  Dispatch,
  Bury,
  Wait,
  WaitLong,
  count
};

struct Blow {
  Fate fate;
  bool on_a;
  unsigned number;
};

std::ostream& operator<<(std::ostream& out, const Blow& blow) {
  static constexpr const char* kNames[] = {
      "RemoveDevice", "AddDevice",  "FailDevice", "BreakQueue", "FailQueue", "Disconnect",
      "LoseRequest",  "LoseAnswer", "Restart",    "Send",       "Hold",      "Unhold",
      "WayAppears",   "Dispatch",   "Bury",       "Wait",       "WaitLong"};
  return out << kNames[static_cast<int>(blow.fate)] << (blow.on_a ? " a " : " b ") << blow.number;
}

class Trial {
 public:
  Trial() {
    world.b->listen(7000);
    for (int i = 0; i < 3; ++i) (void)world.a->connect("10.0.0.2", 7000);
    world.run(milliseconds(200));
  }

  void strike(const Blow& blow) {
    Machine& machine = blow.on_a ? *world.a : *world.b;
    auto& round = blow.on_a ? round_a : round_b;
    switch (blow.fate) {
      case Fate::RemoveDevice:
        return machine.port.remove_device();
      case Fate::AddDevice:
        return machine.port.add_device();
      case Fate::FailDevice:
        return machine.port.fail_device();
      case Fate::BreakQueue:
        return machine.port.break_queue(false);
      case Fate::FailQueue:
        return machine.port.break_queue(true);
      case Fate::Disconnect:
        return machine.port.disconnect_some();
      case Fate::LoseRequest:
        world.fabric.lose_requests = 1;
        return;
      case Fate::LoseAnswer:
        world.fabric.lose_answers = 1;
        return;
      case Fate::Restart:
        return machine.owners.at(blow.number % machine.owners.size())->connection->restart();
      case Fate::Send:
        machine.owners.at(blow.number % machine.owners.size())->send();
        return;
      case Fate::Hold:
        round = std::make_unique<QuiesceRound>(machine.hub, seconds(2), [] {});
        return round->start();
      case Fate::Unhold:
        round.reset();
        return machine.hub.unhold();
      case Fate::WayAppears:
        return machine.hub.way_appeared();
      case Fate::Dispatch:
        return machine.dispatch();
      case Fate::Bury:
        return machine.reaper.run_one(blow.number);
      case Fate::Wait:
        return world.run(milliseconds(blow.number % 300));
      case Fate::WaitLong:
        return world.run(milliseconds(blow.number % 5000), milliseconds(100));
      case Fate::count:
        return;
    }
  }

  void make_whole() {
    for (auto* machine : {world.a.get(), world.b.get()}) {
      machine->dispatch();
      machine->port.add_device();
    }
    round_a.reset();
    round_b.reset();
    world.fabric.lose_requests = world.fabric.lose_answers = 0;
    world.a->hub.unhold();
    world.b->hub.unhold();
    world.run(seconds(40), milliseconds(20));
  }

  TwoWorld world;
  std::unique_ptr<QuiesceRound> round_a;
  std::unique_ptr<QuiesceRound> round_b;
};

// Found by the schedules below: the call of the other one comes in on a device that leaves before it is
// answered.
TEST(RandomSchedule, a_device_that_leaves_while_a_call_comes_in_is_let_go_of) {
  Trial trial;
  for (const auto& blow :
       {Blow{Fate::RemoveDevice, true, 0}, Blow{Fate::AddDevice, true, 0}, Blow{Fate::RemoveDevice, false, 0},
        Blow{Fate::AddDevice, false, 0}, Blow{Fate::Dispatch, false, 0}, Blow{Fate::RemoveDevice, true, 0}})
    trial.strike(blow);
  trial.make_whole();
  EXPECT_EQ(trial.world.a->port.live_devices, 1U);
  EXPECT_EQ(trial.world.b->port.live_devices, 1U);
}

TEST(RandomSchedule, all_is_well_in_the_end) {
  const int wanted = schedules(2'500) / 5;  // each takes longer than one of a channel's
  int tried = 0;
  EXPECT_TRUE(holds_for(wanted, 100, [&tried] {
    ++tried;
    const auto blows = *rc::gen::container<std::vector<Blow>>(rc::gen::map(
        rc::gen::tuple(rc::gen::inRange(0, static_cast<int>(Fate::count)), rc::gen::arbitrary<bool>(),
                       rc::gen::inRange(0U, 100000U)),
        [](const auto& parts) {
          return Blow{static_cast<Fate>(std::get<0>(parts)), std::get<1>(parts), std::get<2>(parts)};
        }));
    Trial trial;
    for (const auto& blow : blows) trial.strike(blow);
    trial.make_whole();
    auto& world = trial.world;
    RC_ASSERT(world.fabric.faults.empty());
    RC_ASSERT(world.a->owners.size() == 3U);
    RC_ASSERT(world.b->owners.size() == 3U);
    for (auto* machine : {world.a.get(), world.b.get()}) {
      for (const auto& owner : machine->owners) {
        RC_ASSERT(owner->faults.empty());
        RC_ASSERT(owner->connection->state() == ConnectionState::Up);
        RC_ASSERT(owner->ups == static_cast<int>(owner->downs.size()) + 1);
        const int before = owner->sent;
        RC_ASSERT(owner->send());
        world.run(milliseconds(20));
        RC_ASSERT(owner->sent == before + 1);
      }
      RC_ASSERT(machine->port.live_devices == 1U);
    }
    // Three connections each, a canary each, the recall listeners and the service.
    RC_ASSERT(world.a->live_endpoints() == 5U);
    RC_ASSERT(world.b->live_endpoints() == 6U);
    world.a->owners.clear();
    world.b->owners.clear();
    world.run(milliseconds(100));
    RC_ASSERT(world.a->live_endpoints() == 2U);
    RC_ASSERT(world.b->live_endpoints() == 3U);
  }));
  EXPECT_GE(tried, wanted);
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
