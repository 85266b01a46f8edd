// What each driver does in its own way: mlx5 and mlx4 on InfiniBand, Ethernet, and the driver that has a VF.
#include "coordinator/fabric/tests/identity_bench.hpp"

#include <gmock/gmock.h>

#include "coordinator/fabric/identity/driver_binding.hpp"

namespace rdmove::fabric {
namespace {

using testing::HasSubstr;
using testing::Not;

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
