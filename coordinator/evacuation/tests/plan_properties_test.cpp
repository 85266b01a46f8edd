// The planner over random hosts and VMs: never over a room, never over a limit, and nobody waits for ever.
#include <rapidcheck.h>

#include <gtest/gtest.h>

#include "coordinator/evacuation/plan.hpp"

namespace rdmove::evacuation {
namespace {

const PoolName kPools[] = {PoolName("a"), PoolName("b")};

Need anyNeed(int number) {
  Need need;
  need.uuid = DomainUuid("uuid-" + std::to_string(number));
  need.domain = "vm" + std::to_string(number);
  need.memory_kib = *rc::gen::inRange<std::uint64_t>(1, 9);
  need.vcpus = *rc::gen::inRange(1U, 5U);
  for (const PoolName& pool : kPools) {
    if (const unsigned count = *rc::gen::inRange(0U, 3U)) need.vfs[pool] = count;
  }
  if (number > 0 && *rc::gen::inRange(0, 3) == 0)
    need.peers.insert(DomainUuid("uuid-" + std::to_string(*rc::gen::inRange(0, number))));
  return need;
}

HostRoom anyRoom(int number) {
  HostRoom room;
  room.host = HostName("host" + std::to_string(number));
  room.memory_kib = *rc::gen::inRange<std::uint64_t>(0, 24);
  room.cpus = *rc::gen::inRange(0U, 9U);
  room.vcpus = *rc::gen::inRange(0U, 20U);
  for (const PoolName& pool : kPools) {
    if (*rc::gen::inRange(0, 4) != 0) room.free_vfs[pool] = *rc::gen::inRange(0U, 7U);
  }
  return room;
}

std::vector<Need> anyNeeds() {
  std::vector<Need> needs;
  for (int i = 0, count = *rc::gen::inRange(0, 9); i < count; ++i) needs.push_back(anyNeed(i));
  return needs;
}

std::vector<HostRoom> anyRooms() {
  std::vector<HostRoom> rooms;
  for (int i = 0, count = *rc::gen::inRange(0, 4); i < count; ++i) rooms.push_back(anyRoom(i));
  return rooms;
}

/// All that is given to a host, added up by itself and not by what is tested.
void checkWithin(const std::vector<const Need*>& given, const HostRoom& room) {
  std::uint64_t memory = 0;
  std::map<PoolName, unsigned> vfs;
  for (const Need* need : given) {
    memory += need->memory_kib;
    RC_ASSERT(need->vcpus <= room.cpus);
    for (const auto& [pool, count] : need->vfs) vfs[pool] += count;
  }
  RC_ASSERT(memory <= room.memory_kib);
  for (const auto& [pool, count] : vfs) {
    RC_ASSERT(room.free_vfs.count(pool) != 0);
    RC_ASSERT(count <= room.free_vfs.at(pool));
  }
}

TEST(PlanProperties, no_host_is_given_more_than_its_room_and_nobody_is_lost) {
  EXPECT_TRUE(rc::check([] {
    const auto needs = anyNeeds();
    const auto rooms = anyRooms();
    const auto placed = place(needs, rooms);
    RC_ASSERT(placed.size() == needs.size());
    std::set<DomainUuid> all;
    std::map<HostName, std::vector<const Need*>> given;
    for (const Placement& each : placed) {
      all.insert(each.need.uuid);
      RC_ASSERT(each.destination.has_value() == each.why_not.empty());
      if (each.destination) given[*each.destination].push_back(&each.need);
    }
    RC_ASSERT(all.size() == needs.size());
    std::vector<HostRoom> left = rooms;
    for (HostRoom& room : left) {
      checkWithin(given[room.host], room);
      for (const Need* need : given[room.host]) occupy(room, *need);
    }
    // Who stays would fit nowhere beside those that go.
    for (const Placement& each : placed) {
      if (each.destination) continue;
      for (const HostRoom& room : left) RC_ASSERT(!misfit(each.need, room).empty());
    }
  }));
}

TEST(PlanProperties, a_host_that_is_chosen_later_has_room_beside_what_is_coming) {
  EXPECT_TRUE(rc::check([] {
    const auto needs = anyNeeds();
    RC_PRE(!needs.empty());
    const auto rooms = anyRooms();
    std::multimap<HostName, Need> coming;
    for (std::size_t i = 1; i < needs.size(); ++i)
      coming.emplace(HostName("host" + std::to_string(i % 3)), needs[i]);
    const Choice choice = choose(needs[0], HostName("host0"), rooms, coming, {});
    RC_ASSERT((choice.when == Choice::When::kNever) == !choice.why_not.empty());
    if (choice.when != Choice::When::kNow) return;
    for (HostRoom room : rooms) {
      if (room.host != choice.host) continue;
      const auto [first, last] = coming.equal_range(room.host);
      for (auto each = first; each != last; ++each) occupy(room, each->second);
      RC_ASSERT(misfit(needs[0], room).empty());
    }
  }));
}

TEST(PlanProperties, the_limits_hold_at_every_step_and_everybody_begins_once) {
  EXPECT_TRUE(rc::check([] {
    const auto needs = anyNeeds();
    const Limits limits{*rc::gen::inRange(1U, 5U), *rc::gen::inRange(0U, 4U), *rc::gen::arbitrary<bool>()};
    std::vector<Turn> turns;
    for (const Need& need : needs) turns.push_back({Turn::State::kWaiting, &need});
    std::vector<std::size_t> moving;
    std::size_t begun = 0;
    while (true) {
      for (const std::size_t i : mayBegin(turns, limits)) {
        RC_ASSERT(turns.at(i).state == Turn::State::kWaiting);
        turns[i].state = Turn::State::kMoving;
        moving.push_back(i);
        ++begun;
      }
      RC_ASSERT(moving.size() <= limits.max_parallel);
      for (const PoolName& pool : kPools) {
        std::size_t users = 0;
        for (const std::size_t i : moving) users += needs[i].vfs.count(pool);
        if (limits.per_fabric != 0) RC_ASSERT(users <= limits.per_fabric);
      }
      for (const std::size_t one : moving) {
        for (const std::size_t other : moving) {
          if (!limits.peers_together) RC_ASSERT(needs[one].peers.count(needs[other].uuid) == 0);
        }
      }
      if (moving.empty()) break;
      const auto ends = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(moving.size())));
      turns[moving[ends]].state = Turn::State::kOver;
      moving.erase(moving.begin() + static_cast<std::ptrdiff_t>(ends));
    }
    RC_ASSERT(begun == needs.size());
  }));
}

}  // namespace
}  // namespace rdmove::evacuation
