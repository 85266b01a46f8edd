// The transaction on each kind of adapter: what is there after it, and that nothing is half set when any of
// its effects fails. The fixture knows what firmware and driver hold, so the tests look there and not at what
// is told.
#include "coordinator/fabric/identity/vf_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/fabric/identity/driver_binding.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"
#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"

namespace rdmove::fabric {
namespace {

using testing::HasSubstr;
using testing::Not;

const Guid kNode(0x0002c903000a1b2c);
const Guid kPort(0x0002c903000a1b2d);

Identity guids() {
  Identity identity;
  identity.node_guid = kNode;
  identity.port_guid = kPort;
  return identity;
}
Identity alias() {
  Identity identity;
  identity.port_guid = kPort;
  identity.pkeys = {PartitionKey(0x8001), PartitionKey(0xffff)};
  return identity;
}
Identity ethernet() {
  Identity identity;
  identity.mac = MacAddress::parse("52:54:00:77:00:01");
  identity.vlan = 7;
  identity.vlan_priority = 3;
  identity.trust = true;
  identity.spoof_check = true;
  identity.max_rate = 1000;
  return identity;
}

/// A host with one adapter, and the VF 0 that is worked on.
struct Bench {
  explicit Bench(const AdapterSpec& spec)
      : adapter(host.add(spec)),
        files(host.files()),
        port(makeVfPorts(*files, host.netlink())),
        identity(*files, *port),
        at{readPf(*files, spec.pci)->place, 0, adapter.vfs()[0].pci} {}

  FakeVf& vf() { return adapter.vfs()[0]; }
  VfMemory plan(const Identity& wanted, const std::optional<VfMemory>& kept = std::nullopt) {
    auto planned = identity.plan(at, wanted, kept);
    EXPECT_TRUE(planned) << planned.error().sentence();
    return planned.value_or(VfMemory{});
  }

  FakeHost host;
  FakeAdapter& adapter;
  std::unique_ptr<SysfsFiles> files;
  std::unique_ptr<VfPort> port;
  VfIdentity identity;
  VfPlace at;
};

struct Kind {
  const char* name;
  AdapterSpec spec;
  Identity identity;
  Owner owner = Owner::kAllOurs;
  friend std::ostream& operator<<(std::ostream& out, const Kind& self) { return out << self.name; }
};

AdapterSpec bound(AdapterSpec spec, const std::string& driver) {
  spec.vf_driver = driver;
  return spec;
}

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

/// Runs `act` once for each effect that it has, with that one failing, on a host made anew by `prepare`.
void failEach(const AdapterSpec& spec, const std::function<void(Bench&)>& prepare,
              const std::function<Result<void>(Bench&)>& act) {
  for (int effect = 1; effect < 100; ++effect) {
    Bench bench(spec);
    prepare(bench);
    const std::string before = bench.host.snapshot();
    bench.host.effects = 0;
    bench.host.fail_at = effect;
    const auto done = act(bench);
    if (bench.host.effects < effect) {
      EXPECT_TRUE(done) << done.error().sentence();
      EXPECT_GT(effect, 1) << "it has no effect";
      return;
    }
    ASSERT_FALSE(done) << "effect " << effect << " failed, and nobody said so";
    EXPECT_NE(done.error().code, ErrorCode::kInternal) << done.error().sentence();
    EXPECT_EQ(bench.host.snapshot(), before) << "effect " << effect << ": " << done.error().sentence();
  }
  FAIL() << "it does not end";
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

TEST(Mlx5Identity, guids_change_with_the_link_down_and_it_comes_up_last) {
  Bench bench(mlx5InfiniBand());
  const VfMemory memory = bench.plan(guids());
  bench.host.fail_at = 3;  // the port GUID: node and link are done by then
  bench.host.fails = 100;
  EXPECT_FALSE(bench.identity.give(bench.at, guids(), memory, Owner::kAllOurs));
  EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kDisable) << "stuck in the middle, it is unheard";
}

TEST(Mlx5Identity, staged_guids_are_there_with_the_link_down) {
  for (const AdapterSpec& spec : {mlx5InfiniBand(), mlx5Vendor()}) {
    Bench bench(spec);
    bench.vf().settings.link = LinkPolicy::kEnable;
    const VfMemory memory = bench.plan(guids());
    ASSERT_TRUE(bench.identity.stage(bench.at, guids(), memory));
    EXPECT_EQ(bench.vf().node_guid, kNode);
    EXPECT_EQ(bench.vf().port_guid, kPort);
    EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kDisable);
    const int staged = bench.host.effects;
    ASSERT_TRUE(bench.identity.give(bench.at, guids(), memory, Owner::kAllOurs));
    EXPECT_EQ(bench.host.effects, staged + 1) << "only the link is left to do";
    EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kEnable) << "as it was before";
  }
}

TEST(Mlx5Identity, what_was_staged_is_taken_off_again) {
  Bench bench(mlx5Vendor());
  const std::string before = bench.host.snapshot();
  const VfMemory memory = bench.plan(guids());
  ASSERT_TRUE(bench.identity.stage(bench.at, guids(), memory));
  ASSERT_TRUE(bench.identity.take(bench.at, guids(), memory));
  EXPECT_EQ(bench.host.snapshot(), before);
}

TEST(Mlx5Identity, whichever_effect_of_staging_fails_nothing_is_half_set) {
  VfMemory memory;
  failEach(
      mlx5Vendor(), [&](Bench& bench) { memory = bench.plan(guids()); },
      [&](Bench& bench) { return bench.identity.stage(bench.at, guids(), memory); });
}

TEST(Mlx5Identity, a_link_that_nobody_had_up_is_up_for_the_vm) {
  Bench bench(mlx5InfiniBand());
  bench.vf().settings.link = LinkPolicy::kDisable;
  const VfMemory memory = bench.plan(guids());
  ASSERT_TRUE(bench.identity.give(bench.at, guids(), memory, Owner::kAllOurs));
  EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kAuto);
  ASSERT_TRUE(bench.identity.take(bench.at, guids(), memory));
  EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kDisable);

  Identity down = guids();
  down.link = LinkPolicy::kEnable;
  ASSERT_TRUE(bench.identity.give(bench.at, down, bench.plan(down), Owner::kAllOurs));
  EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kEnable) << "what is declared wins";
}

TEST(Mlx5Identity, a_host_driver_is_taken_off_the_vf_and_given_back_so_that_it_reads_the_guids) {
  Bench bench(bound(mlx5InfiniBand(), "mlx5_core"));
  const VfMemory memory = bench.plan(guids());
  EXPECT_EQ(memory.before.port_guid, bench.vf().port_guid) << "known from its own device";
  ASSERT_TRUE(bench.identity.give(bench.at, guids(), memory, Owner::kAllOurs));
  EXPECT_EQ(guidsOfDevice(*bench.files, bench.at.pci).node_guid, kNode);
  EXPECT_EQ(guidsOfDevice(*bench.files, bench.at.pci).port_guid, kPort);
  EXPECT_EQ(bench.vf().driver, "mlx5_core");
}

TEST(Mlx5Identity, our_own_record_knows_what_the_kernel_does_not_tell) {
  Bench bench(mlx5InfiniBand());
  const Guid node = bench.vf().node_guid;
  VfMemory kept;
  kept.before.node_guid = node;
  kept.before.port_guid = Guid(0x0002c90300ffff01);
  const VfMemory memory = bench.plan(guids(), kept);
  EXPECT_EQ(memory.before.node_guid, node);
  ASSERT_TRUE(bench.identity.give(bench.at, guids(), memory, Owner::kAllOurs));
  // A daemon that starts anew plans again: what it reads now is what it gave.
  const VfMemory again = bench.plan(guids(), memory);
  EXPECT_EQ(again.before, memory.before);
  ASSERT_TRUE(bench.identity.take(bench.at, guids(), again));
  EXPECT_EQ(bench.vf().node_guid, node);
  EXPECT_EQ(bench.vf().port_guid, Guid(0x0002c90300ffff01));
}

TEST(Mlx5Identity, a_guid_of_before_our_time_is_taken_off_though_it_reads_as_0) {
  Bench bench(mlx5InfiniBand());
  bench.vf().node_guid = kNode;  // set by the vendor's tool: netlink tells 0
  bench.vf().port_guid = kPort;
  ASSERT_TRUE(bench.identity.take(bench.at, guids(), std::nullopt));
  EXPECT_EQ(bench.vf().node_guid, Guid());
  EXPECT_EQ(bench.vf().port_guid, Guid());
  EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kDisable)
      << "how it was before nobody knows: it stays down";
}

TEST(Mlx4Identity, an_alias_and_the_pkeys_in_their_order) {
  Bench bench(mlx4InfiniBand());
  const VfMemory memory = bench.plan(alias());
  ASSERT_TRUE(bench.identity.stage(bench.at, alias(), memory));
  EXPECT_EQ(bench.host.effects, 0) << "an alias is live as soon as it is written: it is planned only";
  ASSERT_TRUE(bench.identity.give(bench.at, alias(), memory, Owner::kAllOurs));
  EXPECT_EQ(bench.vf().admin_guid, kPort);
  EXPECT_EQ(bench.vf().granted_guid, kPort);
  EXPECT_THAT(bench.vf().partitions, testing::ElementsAre(1, 0, 3)) << "0x8001, 0xffff, none";
  EXPECT_EQ(bench.adapter.vfs()[1].partitions[0], 0U) << "the other VF is left alone";
}

TEST(Mlx4Identity, tells_what_is_in_force_beside_what_was_asked_for) {
  AdapterSpec spec = mlx4InfiniBand();
  spec.sm_declines = true;
  Bench bench(spec);
  const Guid old = bench.vf().granted_guid;
  ASSERT_TRUE(bench.identity.give(bench.at, alias(), bench.plan(alias()), Owner::kAllOurs));
  const auto live = bench.port->tables(bench.at);
  ASSERT_TRUE(live) << live.error().sentence();
  EXPECT_EQ(live->gid_row, 1U);
  EXPECT_EQ(live->granted, old) << "the subnet manager did not grant it";
  EXPECT_EQ(live->pkeys, (std::vector{PartitionKey(0x8001), PartitionKey(0xffff)}));
}

TEST(Mlx4Identity, without_a_record_the_alias_is_deleted) {
  Bench bench(mlx4InfiniBand());
  bench.vf().admin_guid = bench.vf().granted_guid = kPort;
  ASSERT_TRUE(bench.identity.take(bench.at, alias(), std::nullopt));
  EXPECT_EQ(bench.vf().admin_guid, Guid(~0ULL)) << "0 would have the SM make one up";
  EXPECT_EQ(bench.vf().granted_guid, Guid());
}

TEST(Mlx4Identity, a_dual_port_adapter_is_set_on_its_infiniband_port) {
  AdapterSpec spec = mlx4InfiniBand();
  spec.ports = 2;  // the first is Ethernet
  FakeHost host;
  FakeAdapter& adapter = host.add(spec);
  const auto files = host.files();
  const auto port = makeMlx4SysfsPort(*files);
  const VfPlace vf{readPf(*files, spec.pci)->place, 1, adapter.vfs()[1].pci};
  VfSettings values;
  values.port_guid = kPort;
  ASSERT_TRUE(port->write(vf, Field::kPortGuid, values));
  EXPECT_EQ(adapter.vfs()[1].admin_guid, kPort);
  EXPECT_THAT(port->whereToLook(vf), HasSubstr("iov/0000:03:00.2"));
}

TEST(EthernetIdentity, is_all_of_it) {
  Bench bench(mlx5Ethernet());
  Identity identity = ethernet();
  identity.vlan_protocol = VlanProtocol::k8021ad;
  identity.link = LinkPolicy::kEnable;
  identity.min_rate = 100;
  ASSERT_TRUE(bench.identity.give(bench.at, identity, bench.plan(identity), Owner::kAllOurs));
  const VfSettings& now = bench.vf().settings;
  EXPECT_EQ(now.mac, identity.mac);
  EXPECT_EQ(now.vlan, (VlanTag{7, 3, VlanProtocol::k8021ad}));
  EXPECT_EQ(now.trust, true);
  EXPECT_EQ(now.spoof_check, true);
  EXPECT_EQ(now.rates, (Rates{100, 1000}));
  EXPECT_EQ(now.link, LinkPolicy::kEnable);
}

TEST(EthernetIdentity, what_is_not_declared_is_not_touched) {
  Bench bench(mlx5Ethernet());
  bench.vf().settings.rates = Rates{5, 50};
  bench.vf().settings.link = LinkPolicy::kDisable;
  Identity identity;
  identity.mac = ethernet().mac;
  ASSERT_TRUE(bench.identity.give(bench.at, identity, bench.plan(identity), Owner::kAllOurs));
  EXPECT_EQ(bench.vf().settings.rates, (Rates{5, 50}));
  EXPECT_EQ(bench.vf().settings.link, LinkPolicy::kDisable);
}

TEST(EthernetIdentity, of_an_interface_libvirt_sets_mac_and_vlan_and_we_look) {
  Bench bench(mlx5Ethernet());
  Identity identity = ethernet();
  identity.vlan_priority.reset();
  const VfMemory memory = bench.plan(identity);
  const auto early = bench.identity.give(bench.at, identity, memory, Owner::kAddressesLibvirts);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kConflict);
  EXPECT_THAT(early.error().sentence(), HasSubstr("the driver tells no MAC"));
  EXPECT_EQ(bench.host.effects, 0);

  bench.vf().settings.mac = identity.mac;  // libvirt's attach
  bench.vf().settings.vlan = VlanTag{7, 0, VlanProtocol::k8021Q};
  ASSERT_TRUE(bench.identity.give(bench.at, identity, memory, Owner::kAddressesLibvirts));
  EXPECT_EQ(bench.vf().settings.trust, true);
  EXPECT_EQ(bench.host.effects, 3) << "trust, spoof check, rates";

  identity.vlan_priority = 3;
  ASSERT_TRUE(bench.identity.give(bench.at, identity, memory, Owner::kAddressesLibvirts));
  EXPECT_EQ(bench.vf().settings.vlan, (VlanTag{7, 3, VlanProtocol::k8021Q})) << "libvirt knows no priority";
}

TEST(EthernetIdentity, what_libvirt_put_back_is_left_alone_and_the_rest_is_ours_to_take) {
  Bench bench(mlx5Ethernet());
  const VfMemory memory = bench.plan(ethernet());
  ASSERT_TRUE(bench.identity.give(bench.at, ethernet(), memory, Owner::kAllOurs));
  bench.vf().settings.mac = MacAddress::parse("52:54:00:99:00:01");  // libvirt's detach
  ASSERT_TRUE(bench.identity.take(bench.at, ethernet(), memory));
  EXPECT_EQ(bench.vf().settings.mac, MacAddress::parse("52:54:00:99:00:01"));
  EXPECT_EQ(bench.vf().settings.vlan->id, 7) << "a VLAN is many VFs' VLAN";
  EXPECT_EQ(bench.vf().settings.trust, false);
  EXPECT_EQ(bench.vf().settings.rates, Rates{});
}

TEST(EthernetIdentity, without_an_address_the_vlan_says_whose_it_is) {
  Bench bench(mlx5Ethernet());
  bench.vf().settings.vlan = VlanTag{7, 0, VlanProtocol::k8021Q};
  Identity identity;
  identity.vlan = 7;
  ASSERT_TRUE(bench.identity.take(bench.at, identity, std::nullopt));
  EXPECT_EQ(bench.vf().settings.vlan, VlanTag{});
}

// --- Accepted and ignored ---

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

TEST(HostDriver, is_remembered_from_when_it_last_had_the_vf) {
  Bench bench(bound(mlx5Ethernet(), "mlx5_core"));
  const auto memory = bench.plan(ethernet());
  EXPECT_EQ(memory.before.driver, "mlx5_core");
  bench.adapter.unbind(bench.vf());
  bench.adapter.bind(bench.vf(), "vfio-pci");
  EXPECT_EQ(bench.plan(ethernet(), memory).before.driver, "mlx5_core") << "it was ours that took it";
  EXPECT_FALSE(bench.plan(ethernet()).before.driver) << "VFIO had it before us";
}

TEST(HostDriver, is_named_to_the_kernel_only_while_it_takes_the_vf) {
  Bench bench(mlx5Ethernet());
  const std::string pci = bench.at.pci;
  const std::string named = "bus/pci/devices/" + pci + "/driver_override";
  std::vector<std::string> seen;
  bench.host.attribute(named, {[] { return std::string("(null)"); },
                               [&seen](const std::string& text) { return seen.push_back(text), 0; }});
  bench.adapter.unbind(bench.vf());
  const auto bound = bindDriver(*bench.files, pci, "mlx5_core");
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_EQ(driverOf(*bench.files, pci), "mlx5_core");
  EXPECT_EQ(seen, (std::vector<std::string>{"mlx5_core", "\n"}));
}

}  // namespace
}  // namespace rdmove::fabric
