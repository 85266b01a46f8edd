// Which VM goes where, and which may begin.
#include "coordinator/evacuation/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove::evacuation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const PoolName kFabric("fabric");
const PoolName kOther("other");
const HostName kHostb("hostb");
const HostName kHostc("hostc");

Need need(const std::string& name, std::uint64_t memory_mib = 1024, unsigned vfs = 1) {
  Need need{DomainUuid("uuid-" + name), name, memory_mib * 1024, 1, {}, {}};
  if (vfs != 0) need.vfs[kFabric] = vfs;
  return need;
}

HostRoom room(const HostName& host, unsigned free_vfs, std::uint64_t memory_mib = 65536, unsigned cpus = 8) {
  return {host, {{kFabric, free_vfs}}, memory_mib * 1024, cpus, 0};
}

std::map<std::string, std::string> destinations(const std::vector<Placement>& placements) {
  std::map<std::string, std::string> out;
  for (const Placement& each : placements)
    out[each.need.domain] = each.destination ? each.destination->str() : "";
  return out;
}

TEST(Misfit, names_what_is_missing_with_both_numbers) {
  EXPECT_EQ(misfit(need("vm1"), room(kHostb, 1)), "");
  EXPECT_EQ(misfit(need("vm1", 1024, 2), room(kHostb, 1)), "pool fabric has 1 VFs free, 2 needed");
  EXPECT_EQ(misfit(need("vm1", 1024), room(kHostb, 1, 512)), "512 MiB of memory free, 1024 MiB needed");
  Need wide = need("vm1");
  wide.vcpus = 9;
  EXPECT_EQ(misfit(wide, room(kHostb, 1)), "8 CPUs, 9 needed");
  Need elsewhere = need("vm1", 1024, 0);
  elsewhere.vfs[kOther] = 1;
  EXPECT_EQ(misfit(elsewhere, room(kHostb, 1)), "it has no pool other for this host's VMs");
}

TEST(Place, spreads_over_hosts_by_how_busy_their_cpus_are) {
  HostRoom busy = room(kHostb, 9);
  busy.vcpus = 6;
  const auto placed = place({need("vm1"), need("vm2"), need("vm3")}, {busy, room(kHostc, 9)});
  EXPECT_THAT(destinations(placed),
              (std::map<std::string, std::string>{{"vm1", "hostc"}, {"vm2", "hostc"}, {"vm3", "hostc"}}));
}

TEST(Place, gives_who_can_go_to_one_host_alone_that_host_before_others_fill_it) {
  Need picky = need("vm2", 1024, 0);
  picky.vfs[kOther] = 1;
  HostRoom hostb = room(kHostb, 2);
  hostb.free_vfs[kOther] = 1;
  hostb.memory_kib = 1024 * 1024;
  const auto placed = place({need("vm1"), picky}, {hostb, room(kHostc, 2)});
  EXPECT_EQ(destinations(placed).at("vm2"), "hostb");
  EXPECT_EQ(destinations(placed).at("vm1"), "hostc");
}

TEST(Place, says_of_each_host_why_not) {
  const auto placed = place({need("vm1", 1024, 2)}, {room(kHostb, 1), room(kHostc, 2, 512)});
  EXPECT_EQ(placed.at(0).destination, std::nullopt);
  EXPECT_EQ(placed.at(0).why_not,
            "hostb: pool fabric has 1 VFs free, 2 needed; hostc: 512 MiB of memory free, 1024 MiB needed");
}

TEST(Place, tells_who_would_fit_alone_from_who_fits_nowhere) {
  const auto placed = place({need("vm1"), need("vm2")}, {room(kHostb, 1)});
  EXPECT_EQ(placed.at(0).destination, kHostb);
  EXPECT_EQ(placed.at(1).why_not, "hostb: pool fabric has 0 VFs free, 1 needed, with the others there");
  EXPECT_EQ(place({need("vm1")}, {}).at(0).why_not, "no destination is left");
}

TEST(Choose, keeps_to_the_plan_while_that_has_room) {
  const auto choice = choose(need("vm1"), kHostb, {room(kHostb, 1), room(kHostc, 9, 1 << 20)}, {}, {});
  EXPECT_EQ(choice.when, Choice::When::kNow);
  EXPECT_EQ(choice.host, kHostb);
}

TEST(Choose, takes_another_where_the_planned_one_has_filled_up) {
  const auto choice = choose(need("vm1"), kHostb, {room(kHostb, 0), room(kHostc, 1)}, {}, {});
  EXPECT_EQ(choice.when, Choice::When::kNow);
  EXPECT_EQ(choice.host, kHostc);
}

TEST(Choose, does_not_go_back_to_one_that_was_full) {
  const auto choice = choose(need("vm1"), kHostb, {room(kHostb, 1)}, {}, {kHostb});
  EXPECT_EQ(choice.when, Choice::When::kNever);
  EXPECT_EQ(choice.why_not, "no destination is left");
}

TEST(Choose, waits_where_only_those_under_way_are_in_the_way) {
  const std::multimap<HostName, Need> coming{{kHostb, need("vm2")}};
  EXPECT_EQ(choose(need("vm1"), kHostb, {room(kHostb, 1)}, coming, {}).when, Choice::When::kLater);
  EXPECT_EQ(choose(need("vm1"), kHostb, {room(kHostb, 2)}, coming, {}).when, Choice::When::kNow);
  EXPECT_EQ(choose(need("vm1"), kHostb, {room(kHostb, 0)}, coming, {}).when, Choice::When::kNever);
}

class MayBegin : public testing::Test {
 protected:
  std::vector<std::size_t> begin(const Limits& limits) {
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < needs.size(); ++i) turns.push_back({states.at(i), &needs[i]});
    return mayBegin(turns, limits);
  }
  std::vector<Need> needs{need("vm1"), need("vm2"), need("vm3")};
  std::vector<Turn::State> states{Turn::State::kWaiting, Turn::State::kWaiting, Turn::State::kWaiting};
};

TEST_F(MayBegin, is_the_first_ones_within_the_limit) {
  EXPECT_THAT(begin({2, 0, false}), ElementsAre(0, 1));
  states[0] = Turn::State::kMoving;
  EXPECT_THAT(begin({2, 0, false}), ElementsAre(1));
  states[1] = Turn::State::kMoving;
  EXPECT_THAT(begin({2, 0, false}), IsEmpty());
  states[0] = Turn::State::kOver;
  EXPECT_THAT(begin({2, 0, false}), ElementsAre(2));
}

TEST_F(MayBegin, passes_over_a_fabric_that_is_busy) {
  needs[2].vfs = {{kOther, 1}};
  EXPECT_THAT(begin({3, 1, false}), ElementsAre(0, 2));
}

TEST_F(MayBegin, keeps_peers_apart_unless_asked) {
  needs[0].peers = {needs[1].uuid};  // said by one side alone
  EXPECT_THAT(begin({3, 0, false}), ElementsAre(0, 2));
  EXPECT_THAT(begin({3, 0, true}), ElementsAre(0, 1, 2));
  states[1] = Turn::State::kMoving;
  EXPECT_THAT(begin({3, 0, false}), ElementsAre(2));
}

}  // namespace
}  // namespace rdmove::evacuation
