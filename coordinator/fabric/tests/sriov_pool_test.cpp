// sriov pools on a host of the fixture's: which VFs they are, and the identity by the pool's own words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/fabric/pool_fabric.hpp"
#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"

namespace rdmove::fabric {
namespace {

using testing::HasSubstr;

class SriovPool : public testing::Test {
 protected:
  SriovPool() {
    AdapterSpec roce_spec = mlx5Ethernet();
    roce_spec.vfs = 7;
    AdapterSpec ib_spec = mlx5InfiniBand();
    ib_spec.pci = "0000:af:00.0";
    ib_spec.rdma = "mlx5_1";
    ib_spec.first_vf = 1;
    ib_spec.vfs = 1;
    roce = &host.add(roce_spec);
    ib = &host.add(ib_spec);
    roce->unbind(roce->vfs()[0]);
    roce->vfs()[0].settings.mac = kMac;
    roce->vfs()[0].settings.vlan = VlanTag{7, 0, VlanProtocol::k8021Q};
    roce->vfs()[1].settings.mac = MacAddress::parse("52:54:00:77:00:02");
    host.remove("bus/pci/devices/0000:3b:00.4/iommu_group");
    PoolConfig roce_pool{PoolName("roce"), PoolConfig::Kind::kSriov, "", 0, {"ens1"}};
    PoolConfig ib_pool{PoolName("ib"), PoolConfig::Kind::kSriov, "", 0, {"0000:af:00.0"}};
    fabric = std::make_unique<PoolFabric>(
        std::map<PoolName, PoolConfig>{{roce_pool.name, roce_pool}, {ib_pool.name, ib_pool}}, host.access());
  }

  static std::string hostdev(const std::string& bus, const std::string& function) {
    return "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0x" +
           bus + "' slot='0x00' function='0x" + function + "'/></source><alias name='ua-rdma0'/></hostdev>";
  }
  static MovingVf moving(const std::string& pool, const std::string& xml, const Identity& identity) {
    MovingVf vf;
    vf.declaration.alias = DeviceAlias("ua-rdma0");
    vf.declaration.pool = PoolName(pool);
    vf.declaration.identity = identity;
    vf.device_xml = xml;
    return vf;
  }

  const std::optional<MacAddress> kMac = MacAddress::parse("52:54:00:77:00:01");
  static constexpr const char* kHostdev =
      "<hostdev mode='subsystem' type='pci' managed='no'><alias name='ua-rdma0'/></hostdev>";
  static constexpr const char* kInterface =
      "<interface type='hostdev' managed='no'><mac address='52:54:00:77:00:01'/><alias name='ua-rdma0'/>"
      "</interface>";
  FakeHost host;
  FakeAdapter* roce = nullptr;
  FakeAdapter* ib = nullptr;
  std::unique_ptr<PoolFabric> fabric;
};

TEST_F(SriovPool, a_pf_that_is_gone_takes_nothing_from_the_other_pools) {
  PoolConfig both{PoolName("roce"), PoolConfig::Kind::kSriov, "", 0, {"ens7", "ens1"}};
  PoolFabric asked({{both.name, both}}, host.access());
  const auto vfs = asked.vfs();
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  EXPECT_EQ(vfs->size(), 7U);
  ASSERT_EQ(asked.pfs()->size(), 1U);
  EXPECT_EQ(asked.pfs()->front().netdev, "ens1");
}

TEST_F(SriovPool, a_pf_tells_link_mtu_and_speed) {
  host.file("class/net/ens1/operstate", "up");
  host.file("class/net/ens1/mtu", "4200");
  host.file("class/net/ens1/speed", "100000");
  const auto pfs = fabric->pfs();
  ASSERT_TRUE(pfs);
  const auto ens1 =
      std::find_if(pfs->begin(), pfs->end(), [](const PfInfo& pf) { return pf.netdev == "ens1"; });
  ASSERT_NE(ens1, pfs->end());
  EXPECT_EQ(ens1->link, "up");
  EXPECT_EQ(ens1->mtu, 4200);
  EXPECT_EQ(ens1->speed_mbit, 100000);
  host.file("class/net/ens1/speed", "-1");
  EXPECT_FALSE(fabric->pfs()->back().speed_mbit || fabric->pfs()->front().speed_mbit)
      << "of a link that is down";
}

TEST_F(SriovPool, lists_vfs_by_index_with_driver_mac_and_group) {
  const auto vfs = fabric->vfs();
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  ASSERT_EQ(vfs->size(), 8U);
  EXPECT_EQ((*vfs)[0].name, VfName("0000:af:00.1"));
  EXPECT_FALSE((*vfs)[0].mac) << "an InfiniBand PF tells no MAC";
  EXPECT_EQ((*vfs)[1].name, VfName("0000:3b:00.2"));
  EXPECT_EQ((*vfs)[1].driver, "");
  EXPECT_EQ((*vfs)[1].mac, kMac);
  EXPECT_EQ((*vfs)[2].driver, "vfio-pci");
  EXPECT_EQ((*vfs)[2].iommu_group, 43);
  EXPECT_EQ((*vfs)[2].parent, "ens1");
  EXPECT_FALSE((*vfs)[3].iommu_group);
  EXPECT_EQ((*vfs)[7].name, VfName("0000:3b:01.0")) << "by index, beyond a slot's eight functions";
  EXPECT_FALSE(fabric->softRoce(PoolName("roce")));
}

TEST_F(SriovPool, knows_whose_group_the_host_holds_and_whose_pf_is_switched_off) {
  const auto member = [&](const char* group, const char* pci) {
    host.folder(std::string("kernel/iommu_groups/") + group + "/devices/" + pci);
  };
  member("43", "0000:3b:00.3");  // vfio-pci has both
  member("43", "0000:3b:00.5");
  member("46", "0000:3b:00.6");
  member("46", "0000:3b:00.0");  // the PF
  host.file("class/net/ens1/flags", "0x1002");
  const auto vfs = fabric->vfs();
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  EXPECT_EQ((*vfs)[2].iommu_group, 43);
  EXPECT_TRUE((*vfs)[2].group_holders.empty());
  EXPECT_EQ((*vfs)[5].iommu_group, 46);
  EXPECT_EQ((*vfs)[5].group_holders, std::vector<std::string>{"0000:3b:00.0 (mlx5_core)"});
  EXPECT_TRUE((*vfs)[1].pf_switched_off);
  EXPECT_EQ((*vfs)[1].pf_driver, "mlx5_core");
  EXPECT_FALSE((*vfs)[0].pf_switched_off) << "a PF without a network interface cannot be";
  host.file("class/net/ens1/flags", "0x1003");
  EXPECT_FALSE(fabric->vfs()->at(1).pf_switched_off);
}

TEST_F(SriovPool, of_plain_vfs_has_its_rdma_device_made_by_the_guest) {
  PoolConfig plain{PoolName("plain"), PoolConfig::Kind::kSriov, "", 0, {"ens1"}, true};
  const PoolFabric other({{plain.name, plain}}, host.access());
  EXPECT_TRUE(other.softRoce(plain.name));
}

TEST(SriovPoolOfPlainVfs, has_its_rdma_device_made_by_the_guest) {
  FakeHost host;
  const PoolConfig plain{PoolName("plain"), PoolConfig::Kind::kSriov, "", 0, {"ens1"}, true};
  const PoolFabric fabric({{plain.name, plain}}, host.access());
  EXPECT_TRUE(fabric.softRoce(plain.name));
}

TEST_F(SriovPool, a_pf_that_is_not_there_has_no_vfs) {
  host.remove("class/net/ens1");
  const auto vfs = fabric->vfs();
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  ASSERT_EQ(vfs->size(), 1U);
  EXPECT_EQ(vfs->front().pool, PoolName("ib"));
}

TEST_F(SriovPool, locates_a_hostdev_by_its_host_address) {
  EXPECT_EQ(fabric->locate(PoolName("roce"), hostdev("3b", "2")).value(), VfName("0000:3b:00.2"));
  EXPECT_EQ(fabric->locate(PoolName("ib"), hostdev("3b", "2")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fabric->locate(PoolName("roce"), "<interface type='bridge'><source bridge='br0'/></interface>")
                .error()
                .code,
            ErrorCode::kNotFound);
  EXPECT_EQ(fabric->locate(PoolName("none"), hostdev("3b", "2")).error().code, ErrorCode::kNotFound);
}

TEST_F(SriovPool, a_domains_hostdevs_occupy_their_vfs) {
  const auto occupied =
      fabric->occupied("<domain><devices>" + hostdev("3b", "3") + hostdev("01", "0") + "</devices></domain>");
  ASSERT_TRUE(occupied);
  EXPECT_EQ(*occupied, std::vector{VfName("0000:3b:00.3")});
}

TEST_F(SriovPool, binds_only_a_vf_of_the_pool) {
  const MovingVf vf = moving("roce", kHostdev, {});
  const auto bound = fabric->bind(VfName("0000:3b:00.3"), vf);
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_EQ(fabric->locate(PoolName("roce"), *bound).value(), VfName("0000:3b:00.3"));
  EXPECT_EQ(fabric->bind(VfName("0000:af:00.1"), vf).error().code, ErrorCode::kNotFound);
}

TEST_F(SriovPool, tells_what_each_vf_and_pf_is) {
  const auto vfs = fabric->vfs().value();
  EXPECT_EQ(vfs[0].pf, "0000:af:00.0");
  EXPECT_EQ(vfs[0].link_layer, "InfiniBand");
  EXPECT_EQ(vfs[0].firmware, "20.31.1014");
  EXPECT_EQ(vfs[0].numa_node, 0);
  EXPECT_EQ(vfs[0].rdma, "") << "vfio-pci makes no RDMA device";
  EXPECT_EQ(vfs[7].index, 6U);
  roce->bind(roce->vfs()[0], "mlx5_core");
  EXPECT_EQ(fabric->vfs()->at(1).rdma, "mlx5_10");
  EXPECT_EQ(fabric->vfs()->at(1).netdev, "ens1v0");
  const auto pfs = fabric->pfs().value();
  ASSERT_EQ(pfs.size(), 2U);
  EXPECT_EQ(pfs[0].pool, PoolName("ib"));
  EXPECT_EQ(pfs[1].netdev, "ens1");
  EXPECT_EQ(pfs[1].rdma, "mlx5_0");
  EXPECT_EQ(pfs[1].driver, "mlx5_core");
  EXPECT_EQ(pfs[1].vfs, 7U);
  EXPECT_EQ(pfs[1].most_vfs, 64U);
}

TEST_F(SriovPool, a_vf_that_a_process_of_the_host_has_is_never_free) {
  roce->bind(roce->vfs()[0], "mlx5_core");
  host.process(812, "ib_write_bw", "/dev/infiniband/uverbs10");
  host.process(812, "ib_write_bw", "/dev/infiniband/uverbs10");
  host.process(813, "dpdk", "/dev/vfio/43");
  host.process(1, "init", "/dev/null");
  const auto vfs = fabric->vfs().value();
  EXPECT_EQ(vfs[1].users, (std::vector<VfUser>{{812, "ib_write_bw", "/dev/infiniband/uverbs10"}}));
  EXPECT_EQ(vfs[2].users, (std::vector<VfUser>{{813, "dpdk", "/dev/vfio/43"}}));
  EXPECT_TRUE(vfs[3].users.empty());
  const auto free = freeVfs(vfs, PoolName("roce"), {});
  ASSERT_EQ(free.size(), 4U) << "0000:3b:00.4 has no IOMMU group";
  EXPECT_EQ(free[0].name, VfName("0000:3b:00.5"));
}

TEST_F(SriovPool, a_vf_that_the_hosts_network_has_is_never_free) {
  roce->bind(roce->vfs()[0], "mlx5_core");
  EXPECT_TRUE(fabric->vfs()->at(1).users.empty()) << "an interface that nobody configured";
  host.link("class/net/ens1v0/master", "bond0");
  EXPECT_EQ(fabric->vfs()->at(1).users, (std::vector<VfUser>{{0, "bond0", "ens1v0 is a port of bond0"}}));
  EXPECT_EQ(freeVfs(fabric->vfs().value(), PoolName("roce"), {}).size(), 5U);
}

TEST_F(SriovPool, looks_at_one_vf_closely) {
  const auto roce_vf = fabric->look(VfName("0000:3b:00.2"));
  ASSERT_TRUE(roce_vf) << roce_vf.error().sentence();
  EXPECT_EQ(roce_vf->vf.pool, PoolName("roce"));
  EXPECT_EQ(roce_vf->pf->netdev, "ens1");
  using Word = std::pair<std::string, std::string>;
  EXPECT_THAT(
      roce_vf->told,
      testing::ElementsAre(Word{"mac", "52:54:00:77:00:01"}, Word{"vlan", "7"}, Word{"vlan-priority", "0"},
                           Word{"vlan-protocol", "802.1Q"}, Word{"trust", "off"}, Word{"spoof-check", "off"},
                           Word{"link", "auto"}, Word{"min-rate", "0"}, Word{"max-rate", "0"}));
  EXPECT_THAT(fabric->look(VfName("0000:af:00.1"))->told,
              testing::ElementsAre(Word{"node-guid", "00:00:00:00:00:00:00:00"},
                                   Word{"port-guid", "00:00:00:00:00:00:00:00"}, Word{"link", "auto"}));
  EXPECT_EQ(fabric->look(VfName("0000:99:00.1")).error().code, ErrorCode::kNotFound);
}

TEST_F(SriovPool, takes_mac_and_vlan_off_and_reads_that_back) {
  const VfName vf("0000:3b:00.2");
  EXPECT_TRUE(fabric->takeIdentity(vf, {kMac, 7, {}, {}}, std::nullopt));
  EXPECT_EQ(roce->vfs()[0].settings.mac, MacAddress{});
  EXPECT_EQ(roce->vfs()[0].settings.vlan, VlanTag{});
  EXPECT_EQ(host.effects, 2);
  EXPECT_TRUE(fabric->takeIdentity(vf, {kMac, 7, {}, {}}, std::nullopt)) << "again is success";
  EXPECT_EQ(host.effects, 2);
}

TEST_F(SriovPool, leaves_alone_what_libvirt_put_back) {
  EXPECT_TRUE(fabric->takeIdentity(VfName("0000:3b:00.3"), {kMac, {}, {}, {}}, std::nullopt));
  EXPECT_EQ(host.effects, 0);
}

TEST_F(SriovPool, says_so_when_the_identity_stays) {
  host.deaf = {"MAC"};
  const auto taken = fabric->takeIdentity(VfName("0000:3b:00.2"), {kMac, 7, {}, {}}, std::nullopt);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
  EXPECT_THAT(taken.error().sentence(), HasSubstr("the driver tells MAC 52:54:00:77:00:01"));
  EXPECT_THAT(taken.error().sentence(), HasSubstr("ip link show ens1"));
}

TEST_F(SriovPool, refuses_what_is_no_vf_of_its_pools) {
  const VfName stranger("0000:99:00.1");
  EXPECT_EQ(fabric->takeIdentity(stranger, {kMac, {}, {}, {}}, std::nullopt).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(fabric->planIdentity(stranger, moving("roce", kHostdev, {}), {}).error().code,
            ErrorCode::kNotFound);
}

TEST_F(SriovPool, carries_an_infiniband_identity_from_plan_to_take_by_the_journals_texts) {
  const VfName vf("0000:af:00.1");
  Identity identity;
  identity.port_guid = Guid(0x0002c903000a1b2d);
  const MovingVf vm = moving("ib", kHostdev, identity);
  const auto record = fabric->planIdentity(vf, vm, std::nullopt);
  ASSERT_TRUE(record) << record.error().sentence();
  EXPECT_THAT(record->given, HasSubstr("00:02:c9:03:00:0a:1b:2d"));
  EXPECT_THAT(record->before, HasSubstr("\"link\":\"auto\""));
  ASSERT_TRUE(fabric->stageIdentity(vf, vm, *record));
  EXPECT_EQ(ib->vfs()[0].settings.link, LinkPolicy::kDisable);
  ASSERT_TRUE(fabric->giveIdentity(vf, vm, *record, Attached::kNotYet));
  EXPECT_EQ(ib->vfs()[0].settings.link, LinkPolicy::kAuto);
  EXPECT_EQ(ib->vfs()[0].port_guid, identity.port_guid);
  const int effects = host.effects;
  ASSERT_TRUE(fabric->giveIdentity(vf, vm, *record, Attached::kYes));
  EXPECT_EQ(host.effects, effects);
  ASSERT_TRUE(fabric->takeIdentity(vf, identity, *record));
  EXPECT_EQ(ib->vfs()[0].port_guid, Guid());
  EXPECT_EQ(fabric->takeIdentity(vf, identity, IdentityRecord{"no json", ""}).error().code,
            ErrorCode::kBadInput);
}

TEST_F(SriovPool, of_an_interface_gives_its_part_after_the_attach) {
  const VfName vf("0000:3b:00.3");
  Identity identity;
  identity.mac = kMac;
  identity.trust = true;
  roce->vfs()[0].settings.mac = MacAddress{};
  const MovingVf vm = moving("roce", kInterface, identity);
  const auto record = fabric->planIdentity(vf, vm, std::nullopt);
  ASSERT_TRUE(record) << record.error().sentence();
  ASSERT_TRUE(fabric->stageIdentity(vf, vm, *record));
  ASSERT_TRUE(fabric->giveIdentity(vf, vm, *record, Attached::kNotYet));
  EXPECT_EQ(host.effects, 0);
  roce->vfs()[1].settings.mac = kMac;  // libvirt's attach
  ASSERT_TRUE(fabric->giveIdentity(vf, vm, *record, Attached::kYes));
  EXPECT_EQ(roce->vfs()[1].settings.trust, true);
}

TEST_F(SriovPool, remembers_what_somebody_else_gave) {
  const IdentityRecord record = fabric->recordOf(VfName("0000:3b:00.2"), {kMac, 7, {}, {}});
  ASSERT_TRUE(fabric->takeIdentity(VfName("0000:3b:00.2"), {kMac, 7, {}, {}}, record));
  EXPECT_EQ(roce->vfs()[0].settings.mac, MacAddress{});
}

}  // namespace
}  // namespace rdmove::fabric
