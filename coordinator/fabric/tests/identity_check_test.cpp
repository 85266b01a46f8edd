// Every row of bad input: one sentence, and nothing was written.
#include "coordinator/fabric/identity/identity_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/fabric/identity/vf_identity.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"
#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"

namespace rdmove::fabric {
namespace {

using testing::HasSubstr;

Identity with(const std::function<void(Identity&)>& change) {
  Identity identity;
  change(identity);
  return identity;
}

struct Wrong {
  const char* name;
  Identity identity;
  const char* why;
  friend std::ostream& operator<<(std::ostream& out, const Wrong& self) { return out << self.name; }
};

class WrongValues : public testing::TestWithParam<Wrong> {};

TEST_P(WrongValues, are_refused_in_one_sentence) {
  const auto checked = checkValues(GetParam().identity);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(checked.error().sentence(), HasSubstr(GetParam().why));
  EXPECT_FALSE(checked.error().remedy.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongValues,
    testing::Values(
        Wrong{"no_mac", with([](auto& i) { i.mac = MacAddress{}; }), "MAC is all zeros"},
        Wrong{"multicast_mac", with([](auto& i) { i.mac = MacAddress::parse("01:00:5e:00:00:01"); }),
              "01:00:5e:00:00:01 is a multicast"},
        Wrong{"vlan_0", with([](auto& i) { i.vlan = 0; }), "VLAN 0 is not 1..4094"},
        Wrong{"vlan_4095", with([](auto& i) { i.vlan = 4095; }), "VLAN 4095 is not 1..4094"},
        Wrong{"priority_8", with([](auto& i) { i.vlan = 5, i.vlan_priority = 8; }), "priority 8 is not 0..7"},
        Wrong{"priority_alone", with([](auto& i) { i.vlan_priority = 1; }), "and no VLAN"},
        Wrong{"rates_crossed", with([](auto& i) { i.min_rate = 20, i.max_rate = 10; }), "20 Mbit/s is above"},
        Wrong{"zero_guid", with([](auto& i) { i.port_guid = Guid(); }), "port GUID is all zeros"},
        Wrong{"ones_guid", with([](auto& i) { i.node_guid = Guid(~0ULL); }), "node GUID is all ones"},
        Wrong{"group_guid", with([](auto& i) { i.port_guid = Guid(0x0102c903000a1b2c); }), "group bit"},
        Wrong{"partition_0", with([](auto& i) { i.pkeys = {PartitionKey(0x8000)}; }), "partition 0"},
        Wrong{"one_partition_twice", with([](auto& i) {
                i.pkeys = {PartitionKey(0x8001), PartitionKey(0x0001)};
              }),
              "0x8001 and 0x0001 are one partition"}));

TEST(RightValues, are_taken) {
  EXPECT_TRUE(checkValues({}));
  EXPECT_TRUE(checkValues(with([](auto& i) {
    i.mac = MacAddress::parse("52:54:00:77:00:01");
    i.vlan = 4094;
    i.vlan_priority = 7;
    i.min_rate = 10;  // and no upper limit
    i.node_guid = Guid(0xfeffffffffffffff);
    i.pkeys = {PartitionKey(0xffff), PartitionKey(0x0001)};
  })));
}

// Which adapter refuses what.
struct Misfit {
  const char* name;
  AdapterSpec spec;
  Identity identity;
  ErrorCode code;
  const char* why;
  friend std::ostream& operator<<(std::ostream& out, const Misfit& self) { return out << self.name; }
};

AdapterSpec but(AdapterSpec spec, const std::function<void(AdapterSpec&)>& change) {
  change(spec);
  return spec;
}

class Misfits : public testing::TestWithParam<Misfit> {};

TEST_P(Misfits, are_refused_before_anything_is_written) {
  FakeHost host;
  FakeAdapter& adapter = host.add(GetParam().spec);
  const auto files = host.files();
  const auto port = makeVfPorts(*files, host.netlink());
  const std::string before = host.snapshot();
  const VfPlace vf{readPf(*files, GetParam().spec.pci)->place, 0, adapter.vfs()[0].pci};
  const auto planned = VfIdentity(*files, *port).plan(vf, GetParam().identity, std::nullopt);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, GetParam().code) << planned.error().sentence();
  EXPECT_THAT(planned.error().sentence(), HasSubstr(GetParam().why));
  EXPECT_FALSE(planned.error().remedy.empty()) << planned.error().sentence();
  EXPECT_EQ(host.effects, 0);
  EXPECT_EQ(host.snapshot(), before);
}

const Identity kGuid = with([](auto& i) { i.port_guid = Guid(0x0002c903000a1b2c); });
const Identity kMac = with([](auto& i) { i.mac = MacAddress::parse("52:54:00:77:00:01"); });
Identity keys(std::vector<PartitionKey> list) {
  return with([&](auto& i) { i.pkeys = std::move(list); });
}

INSTANTIATE_TEST_SUITE_P(
    Each, Misfits,
    testing::Values(
        Misfit{"guid_on_ethernet", mlx5Ethernet(), kGuid, ErrorCode::kRefused,
               "PF ens1 is in link layer Ethernet, which has no port GUID"},
        Misfit{"mac_on_infiniband", mlx5InfiniBand(), kMac, ErrorCode::kRefused,
               "PF ib0 is in link layer InfiniBand, which has no MAC"},
        Misfit{"rdma_off", but(mlx5InfiniBand(), [](auto& s) { s.rdma = ""; }), kGuid, ErrorCode::kRefused,
               "RDMA is off on PF ib0"},
        Misfit{"no_driver", but(mlx5InfiniBand(), [](auto& s) { s.rdma = "", s.netdev = ""; }), kGuid,
               ErrorCode::kNotFound, "no network interface"},
        Misfit{"old_kernel", but(mlx5InfiniBand(), [](auto& s) { s.tells_guids = false; }), kGuid,
               ErrorCode::kIncompatible, "does not tell the port GUID of a VF"},
        Misfit{"no_ipoib", but(mlx5InfiniBand(), [](auto& s) { s.netdev = ""; }), kGuid, ErrorCode::kNotFound,
               "no network interface"},
        Misfit{"node_guid_on_mlx4", mlx4InfiniBand(),
               with([](auto& i) { i.node_guid = Guid(0x0002c903000a1b2c); }), ErrorCode::kRefused,
               "mlx4_core has no node GUID to set"},
        Misfit{"pkeys_on_mlx5", mlx5InfiniBand(), keys({PartitionKey(0xffff)}), ErrorCode::kRefused,
               "mlx5_core has no P_Keys to set for a VF. Its P_Keys come from the subnet manager"},
        Misfit{"trust_not_told", but(igb(), [](auto& s) { s.tells_trust = false; }),
               with([](auto& i) { i.trust = true; }), ErrorCode::kIncompatible, "does not tell a VF's trust"},
        Misfit{"pkey_not_there", mlx4InfiniBand(), keys({PartitionKey(0x8007)}), ErrorCode::kRefused,
               "P_Key 0x8007 is not in the port's table. "},
        Misfit{"pkey_not_there_and_full",
               but(mlx4InfiniBand(),
                   [](auto& s) {
                     s.pkeys = {0xffff, 0x8001, 0x0002};
                   }),
               keys({PartitionKey(0x8007)}), ErrorCode::kRefused,
               "is not in the port's table, whose 3 entries are all taken"},
        Misfit{"limited_asks_for_full", mlx4InfiniBand(), keys({PartitionKey(0x8002)}), ErrorCode::kRefused,
               "P_Key 0x8002 asks for full membership, and the port is a limited member (0x0002)"},
        Misfit{"full_asks_for_limited", mlx4InfiniBand(), keys({PartitionKey(0x0001)}), ErrorCode::kRefused,
               "asks for limited membership, and the port is a full member (0x8001)"},
        Misfit{"more_than_the_table_holds", mlx4InfiniBand(),
               keys({PartitionKey(0xffff), PartitionKey(0x8001), PartitionKey(0x0002), PartitionKey(3)}),
               ErrorCode::kRefused, "4 P_Keys do not go into its 3 entries"},
        Misfit{"the_pfs_own_guid", mlx5InfiniBand(),
               with([](auto& i) { i.port_guid = Guid(0xe41d2d0300aa0001); }), ErrorCode::kConflict,
               "port GUID e4:1d:2d:03:00:aa:00:01 is PF ib0's on this host"},
        Misfit{"the_pfs_own_mac", mlx5Ethernet(),
               with([](auto& i) { i.mac = MacAddress::parse("02:00:00:00:00:3b"); }), ErrorCode::kConflict,
               "MAC 02:00:00:00:00:3b is PF ens1's on this host"}));

TEST(Duplicates, on_another_vf_of_this_host_are_named) {
  for (const AdapterSpec& spec : {mlx5InfiniBand(), mlx5Vendor(), mlx4InfiniBand()}) {
    FakeHost host;
    FakeAdapter& adapter = host.add(spec);
    FakeVf& other = adapter.vfs()[1];
    other.port_guid = other.admin_guid = Guid(0x0002c903000a1b2c);
    other.port_told = true;
    const auto files = host.files();
    const auto port = makeVfPorts(*files, host.netlink());
    VfIdentity identity(*files, *port);
    const PfPlace pf = readPf(*files, spec.pci)->place;
    const auto planned = identity.plan({pf, 0, adapter.vfs()[0].pci}, kGuid, std::nullopt);
    ASSERT_FALSE(planned) << spec.driver;
    EXPECT_EQ(planned.error().code, ErrorCode::kConflict);
    EXPECT_THAT(planned.error().sentence(),
                HasSubstr("port GUID 00:02:c9:03:00:0a:1b:2c is VF 1 of ib0's on this host"));
    EXPECT_TRUE(identity.plan({pf, 1, other.pci}, kGuid, std::nullopt)) << "its own is no duplicate";
  }
}

TEST(Duplicates, on_another_adapter_are_found_too) {
  FakeHost host;
  FakeAdapter& here = host.add(mlx5Ethernet());
  AdapterSpec second = igb();
  second.netdev = "ens9";
  FakeAdapter& there = host.add(second);
  there.vfs()[1].settings.mac = kMac.mac;
  const auto files = host.files();
  const auto port = makeVfPorts(*files, host.netlink());
  const auto planned = VfIdentity(*files, *port)
                           .plan({readPf(*files, "ens1")->place, 0, here.vfs()[0].pci}, kMac, std::nullopt);
  ASSERT_FALSE(planned);
  EXPECT_THAT(planned.error().sentence(), HasSubstr("VF 1 of ens9's on this host"));
  EXPECT_THAT(planned.error().sentence(), HasSubstr("ip link show ens9"));
}

TEST(PartitionTable, keeps_the_order_and_finds_exact_matches_first) {
  const std::vector<PartitionKey> port = {PartitionKey(0xffff), PartitionKey(0x0001), PartitionKey(0x8001),
                                          PartitionKey(0)};
  EXPECT_EQ(slotsFor({PartitionKey(0x8001), PartitionKey(0xffff)}, port, 4).value(),
            (PartitionSlots{2U, 0U, std::nullopt, std::nullopt}));
  EXPECT_EQ(slotsFor({PartitionKey(0x0001)}, port, 1).value(), PartitionSlots{1U});
  EXPECT_EQ(slotsFor({}, port, 2).value(), PartitionSlots(2));
}

}  // namespace
}  // namespace rdmove::fabric
