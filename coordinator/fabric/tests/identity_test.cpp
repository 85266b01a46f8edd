// The transaction on every kind of adapter: what is there after it, and that nothing is half set when any of
// its effects fails. The fixture knows what firmware and driver hold, so the tests look there and not at what
// is told. What only one driver does: identity_drivers_test.cpp.
#include "coordinator/fabric/tests/identity_bench.hpp"

#include <gmock/gmock.h>

namespace rdmove::fabric {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Kind {
  const char* name;
  AdapterSpec spec;
  Identity identity;
  Owner owner = Owner::kAllOurs;
  friend std::ostream& operator<<(std::ostream& out, const Kind& self) { return out << self.name; }
};

std::vector<Kind> kinds() {
  return {{"mlx5_netlink", mlx5InfiniBand(), guids()},
          {"mlx5_netlink_host_driver", bound(mlx5InfiniBand(), "mlx5_core"), guids()},
          {"mlx5_vendor", mlx5Vendor(), guids()},
          {"mlx5_vendor_host_driver", bound(mlx5Vendor(), "mlx5_core"), guids()},
          {"mlx4", mlx4InfiniBand(), alias()},
          {"mlx5_ethernet", mlx5Ethernet(), ethernet()},
          {"igb", igb(), ethernet()}};
}

class EachKind : public testing::TestWithParam<Kind> {};

TEST_P(EachKind, planning_changes_nothing) {
  Bench bench(GetParam().spec);
  const std::string before = bench.host.snapshot();
  bench.plan(GetParam().identity);
  EXPECT_EQ(bench.host.effects, 0);
  EXPECT_EQ(bench.host.snapshot(), before);
}

TEST_P(EachKind, what_was_before_is_put_back_when_the_vf_leaves) {
  Bench bench(GetParam().spec);
  const std::string before = bench.host.snapshot();
  const VfMemory memory = bench.plan(GetParam().identity);
  ASSERT_TRUE(bench.identity.give(bench.at, GetParam().identity, memory, GetParam().owner));
  EXPECT_NE(bench.host.snapshot(), before);
  const auto taken = bench.identity.take(bench.at, GetParam().identity, memory);
  ASSERT_TRUE(taken) << taken.error().sentence();
  const bool not_known = GetParam().spec.driver == "mlx5_core" && GetParam().spec.vf_driver == "vfio-pci" &&
                         !GetParam().spec.vendor_files && GetParam().identity.port_guid;
  if (not_known) {
    // The kernel never told these GUIDs, and no host driver had the VF: none is what is known to be right.
    EXPECT_EQ(bench.vf().node_guid, Guid());
    EXPECT_EQ(bench.vf().port_guid, Guid());
  } else {
    EXPECT_EQ(bench.host.snapshot(), before);
  }
}

TEST_P(EachKind, giving_and_taking_twice_is_success_and_does_nothing_more) {
  Bench bench(GetParam().spec);
  const VfMemory memory = bench.plan(GetParam().identity);
  ASSERT_TRUE(bench.identity.give(bench.at, GetParam().identity, memory, GetParam().owner));
  const std::string live = bench.host.snapshot();
  const int effects = bench.host.effects;
  EXPECT_TRUE(bench.identity.give(bench.at, GetParam().identity, memory, GetParam().owner));
  EXPECT_EQ(bench.host.effects, effects);
  EXPECT_EQ(bench.host.snapshot(), live);
  ASSERT_TRUE(bench.identity.take(bench.at, GetParam().identity, memory));
  const std::string off = bench.host.snapshot();
  EXPECT_TRUE(bench.identity.take(bench.at, GetParam().identity, memory));
  EXPECT_EQ(bench.host.snapshot(), off);
}

TEST_P(EachKind, whichever_effect_of_giving_fails_nothing_is_half_set) {
  VfMemory memory;
  failEach(
      GetParam().spec,
      [&](Bench& bench) {
        // GUIDs that the kernel does not tell are undone to what is known of them.
        memory = bench.plan(GetParam().identity);
        if (!memory.before.node_guid && bench.vf().settings.link)
          memory.before.node_guid = bench.vf().node_guid;
        if (!memory.before.port_guid) memory.before.port_guid = bench.vf().port_guid;
      },
      [&](Bench& bench) {
        return bench.identity.give(bench.at, GetParam().identity, memory, GetParam().owner);
      });
}

TEST_P(EachKind, whichever_effect_of_taking_fails_it_stays_as_it_was) {
  VfMemory memory;
  failEach(
      GetParam().spec,
      [&](Bench& bench) {
        memory = bench.plan(GetParam().identity);
        ASSERT_TRUE(bench.identity.give(bench.at, GetParam().identity, memory, GetParam().owner));
      },
      [&](Bench& bench) { return bench.identity.take(bench.at, GetParam().identity, memory); });
}

TEST_P(EachKind, what_could_not_be_undone_is_told) {
  Bench bench(GetParam().spec);
  const VfMemory memory = bench.plan(GetParam().identity);
  bench.host.effects = 0;
  bench.host.fail_at = 2;
  bench.host.fails = 100;
  const auto given = bench.identity.give(bench.at, GetParam().identity, memory, GetParam().owner);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, ErrorCode::kInternal);
  EXPECT_THAT(given.error().sentence(), HasSubstr("; and to undo \""));
}

INSTANTIATE_TEST_SUITE_P(Adapters, EachKind, testing::ValuesIn(kinds()),
                         [](const auto& each) { return each.param.name; });

// --- What each driver needs ---

struct Deaf {
  const char* name;
  AdapterSpec spec;
  Identity identity;
  const char* file;
  const char* why;
  friend std::ostream& operator<<(std::ostream& out, const Deaf& self) { return out << self.name; }
};
class DeafDrivers : public testing::TestWithParam<Deaf> {};

TEST_P(DeafDrivers, are_found_by_reading_back_and_nothing_is_half_set) {
  Bench bench(GetParam().spec);
  VfMemory memory = bench.plan(GetParam().identity);
  if (!memory.before.node_guid) memory.before.node_guid = bench.vf().node_guid;
  if (!memory.before.port_guid) memory.before.port_guid = bench.vf().port_guid;
  const std::string before = bench.host.snapshot();
  bench.host.deaf = {GetParam().file};
  const auto given = bench.identity.give(bench.at, GetParam().identity, memory, Owner::kAllOurs);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, ErrorCode::kConflict) << given.error().sentence();
  EXPECT_THAT(given.error().sentence(), HasSubstr(GetParam().why));
  EXPECT_EQ(bench.host.snapshot(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Each, DeafDrivers,
    testing::Values(
        Deaf{"mlx5_port", mlx5Vendor(), guids(), "port", "the driver tells port GUID e4:1d:2d"},
        Deaf{"mlx5_node", mlx5Vendor(), guids(), "node", "the driver tells node GUID e4:1d:2d"},
        Deaf{"mlx5_policy", mlx5Vendor(), guids(), "policy", "the driver tells link state auto"},
        Deaf{"mlx5_netlink", mlx5InfiniBand(), guids(), "link state", "the driver tells link state auto"},
        Deaf{"mlx4_alias", mlx4InfiniBand(), alias(), "admin_guids", "the driver tells port GUID 02:14"},
        Deaf{"mlx4_pkeys", mlx4InfiniBand(), alias(), "pkey_idx", "the driver tells P_Key slots 0 none none"},
        Deaf{"mac", mlx5Ethernet(), ethernet(), "MAC", "the driver tells no MAC"},
        Deaf{"vlan", mlx5Ethernet(), ethernet(), "VLAN", "the driver tells no VLAN"},
        Deaf{"trust", igb(), ethernet(), "trust", "the driver tells trust off"},
        Deaf{"unbind", bound(mlx5Vendor(), "mlx5_core"), guids(), "unbind", "after that mlx5_core has it"}));

TEST(Identity, a_vf_that_went_under_us_is_named) {
  Bench bench(mlx5InfiniBand());
  const VfMemory memory = bench.plan(guids());
  ASSERT_TRUE(bench.files->write("bus/pci/devices/0000:3b:00.0/sriov_numvfs", "0"));
  for (const auto& result :
       {bench.identity.give(bench.at, guids(), memory, Owner::kAllOurs),
        bench.identity.take(bench.at, guids(), memory), bench.identity.stage(bench.at, guids(), memory)}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(result.error().sentence(), HasSubstr("no such VF"));
  }
}

TEST(Identity, a_driver_that_refuses_a_value_is_quoted) {
  Bench bench(igb());
  Identity identity = ethernet();
  identity.min_rate = 10;
  const VfMemory memory = bench.plan(identity);
  const std::string before = bench.host.snapshot();
  const auto given = bench.identity.give(bench.at, identity, memory, Owner::kAllOurs);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, ErrorCode::kRefused);
  EXPECT_THAT(given.error().sentence(), HasSubstr("cannot give 0000:01:00.2 its identity: cannot set rates"));
  EXPECT_EQ(bench.host.snapshot(), before);
}

}  // namespace
}  // namespace rdmove::fabric
