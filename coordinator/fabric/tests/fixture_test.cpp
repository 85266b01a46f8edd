// The fixture against what the drivers' sources say: if it did not behave, the identity's tests would show
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/fabric/sysfs_sriov.hpp"
#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"

namespace rdmove::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Mlx4 : testing::Test {
  FakeHost host;
  FakeAdapter& adapter = host.add(mlx4InfiniBand());
  std::unique_ptr<SysfsFiles> files = host.files();
  const std::string ports = "class/infiniband/mlx4_0/iov/ports/1/";
  const std::string vf0 = "class/infiniband/mlx4_0/iov/0000:03:00.1/ports/1/";
  const std::string pf = "class/infiniband/mlx4_0/iov/0000:03:00.0/ports/1/";
};

TEST_F(Mlx4, ignores_a_write_to_alias_0_with_success) {
  const std::string before = files->read(ports + "admin_guids/0").value();
  EXPECT_TRUE(files->write(ports + "admin_guids/0", "1122334455667788"));
  EXPECT_EQ(files->read(ports + "admin_guids/0").value(), before);
}

TEST_F(Mlx4, reads_a_guid_up_to_the_first_colon_and_tells_it_without_leading_zeros) {
  ASSERT_TRUE(files->write(ports + "admin_guids/1", "0x0002c903000a1b2c"));
  EXPECT_EQ(files->read(ports + "admin_guids/1").value(), "2c903000a1b2c");
  EXPECT_EQ(files->read(ports + "gids/1").value(), "fe80:0000:0000:0000:0002c903000a1b2c");
  adapter.spec().sm_declines = true;
  ASSERT_TRUE(files->write(ports + "admin_guids/1", "00:02:c9:03:00:0a:1b:2d"));
  EXPECT_EQ(adapter.vfs()[0].granted_guid, Guid(0x0002c903000a1b2c))
      << "taken for 0: the SM was asked for any";
  EXPECT_NE(files->read(ports + "admin_guids/1").value(), "2c903000a1b2d");
}

TEST_F(Mlx4, deletes_an_alias_of_all_ones) {
  ASSERT_TRUE(files->write(ports + "admin_guids/1", "ffffffffffffffff"));
  EXPECT_EQ(adapter.vfs()[0].granted_guid, Guid());
  EXPECT_EQ(files->read(ports + "admin_guids/1").value(), "ffffffffffffffff");
}

TEST_F(Mlx4, has_a_virtual_pkey_table_that_knows_none) {
  EXPECT_EQ(files->read(vf0 + "pkey_idx/0").value(), "0");
  EXPECT_EQ(files->read(vf0 + "pkey_idx/1").value(), "none");
  EXPECT_TRUE(files->write(vf0 + "pkey_idx/1", "0x1"));
  EXPECT_EQ(files->read(vf0 + "pkey_idx/1").value(), "1");
  EXPECT_TRUE(files->write(vf0 + "pkey_idx/1", "None"));
  EXPECT_EQ(files->read(vf0 + "pkey_idx/1").value(), "none");
  for (const char* wrong : {"3", "-1", "x", ""}) {
    EXPECT_EQ(files->write(vf0 + "pkey_idx/1", wrong).error().code, ErrorCode::kRefused) << wrong;
  }
  EXPECT_FALSE(files->exists(vf0 + "pkey_idx/3")) << "the last of the port's table is the driver's own";
  EXPECT_EQ(files->write(pf + "pkey_idx/1", "0").error().code, ErrorCode::kRefused) << "the PF's own";
}

TEST_F(Mlx4, has_files_that_are_read_only) {
  EXPECT_EQ(files->read(vf0 + "gid_idx/0").value(), "1");
  for (const std::string& path :
       {ports + "gids/1", ports + "pkeys/1", vf0 + "gid_idx/0", vf0 + "smi_enabled"})
    EXPECT_EQ(files->write(path, "1").error().code, ErrorCode::kRefused) << path;
  EXPECT_TRUE(files->write(vf0 + "enable_smi_admin", "1"));
  EXPECT_EQ(files->read(vf0 + "smi_enabled").value(), "1");
  EXPECT_EQ(files->write(vf0 + "enable_smi_admin", "2").error().code, ErrorCode::kRefused);
  EXPECT_FALSE(files->exists(pf + "smi_enabled")) << "the PF has its QP0";
}

TEST_F(Mlx4, names_functions_eight_to_a_slot) {
  adapter.setVfs(9);
  EXPECT_THAT(files->list("class/infiniband/mlx4_0/iov"),
              testing::IsSupersetOf({"0000:03:00.0", "0000:03:00.7", "0000:03:01.0", "0000:03:01.1"}));
  EXPECT_EQ(files->read("class/infiniband/mlx4_0/iov/0000:03:01.1/ports/1/gid_idx/0").value(), "9");
}

TEST(Mlx5VendorFiles, take_one_spelling_only) {
  FakeHost host;
  FakeAdapter& adapter = host.add(mlx5Vendor());
  const auto files = host.files();
  const std::string vf = "bus/pci/devices/0000:3b:00.0/sriov/1/";
  EXPECT_TRUE(files->write(vf + "port", "00:02:c9:03:00:0a:1b:2c"));
  EXPECT_EQ(adapter.vfs()[1].port_guid, Guid(0x0002c903000a1b2c));
  for (const char* wrong : {"0002c903000a1b2c", "0x0002c903000a1b2c", "00:02:c9:03", "x"})
    EXPECT_EQ(files->write(vf + "node", wrong).error().code, ErrorCode::kRefused) << wrong;
  EXPECT_TRUE(files->write(vf + "policy", "Down"));
  EXPECT_EQ(files->read(vf + "policy").value(), "Down");
  EXPECT_EQ(files->write(vf + "policy", "down").error().code, ErrorCode::kRefused);
  EXPECT_EQ(files->read(vf + "policy").value(), "Down");
}

TEST(Mlx5Netlink, tells_a_guid_only_after_it_was_set_and_the_vf_reads_it_when_it_is_bound) {
  FakeHost host;
  AdapterSpec spec = mlx5InfiniBand();
  spec.vf_driver = "mlx5_core";
  FakeAdapter& adapter = host.add(spec);
  const auto files = host.files();
  const auto netlink = host.netlink();
  const VfPlace vf{readPf(*files, "ib0")->place, 0, adapter.vfs()[0].pci};
  EXPECT_EQ(netlink->read(vf)->port_guid, Guid());
  EXPECT_EQ(guidsOfDevice(*files, vf.pci).port_guid, adapter.vfs()[0].port_guid) << "though it has one";

  VfSettings wanted;
  wanted.port_guid = Guid(0x0002c903000a1b2c);
  ASSERT_TRUE(netlink->write(vf, Field::kPortGuid, wanted));
  EXPECT_EQ(netlink->read(vf)->port_guid, wanted.port_guid);
  EXPECT_NE(guidsOfDevice(*files, vf.pci).port_guid, wanted.port_guid);
  ASSERT_TRUE(files->write("bus/pci/drivers/mlx5_core/unbind", vf.pci));
  EXPECT_FALSE(guidsOfDevice(*files, vf.pci).port_guid);
  ASSERT_TRUE(files->write("bus/pci/drivers/mlx5_core/bind", vf.pci));
  EXPECT_EQ(guidsOfDevice(*files, vf.pci).port_guid, wanted.port_guid);

  wanted.mac = MacAddress::parse("52:54:00:77:00:01");
  EXPECT_EQ(netlink->write(vf, Field::kMac, wanted).error().code, ErrorCode::kIncompatible);
}

TEST(EthernetNetlink, of_igb_does_less_than_mlx5s) {
  FakeHost host;
  host.add(igb());
  const auto files = host.files();
  const auto netlink = host.netlink();
  const VfPlace vf{readPf(*files, "ens1")->place, 1, ""};
  VfSettings wanted;
  wanted.mac = MacAddress::parse("53:54:00:77:00:01");
  wanted.vlan = VlanTag{7, 0, VlanProtocol::k8021ad};
  wanted.rates = Rates{100, 1000};
  wanted.link = LinkPolicy::kEnable;
  EXPECT_EQ(netlink->write(vf, Field::kMac, wanted).error().code, ErrorCode::kRefused);
  EXPECT_EQ(netlink->write(vf, Field::kVlan, wanted).error().code, ErrorCode::kIncompatible);
  EXPECT_EQ(netlink->write(vf, Field::kRates, wanted).error().code, ErrorCode::kRefused);
  EXPECT_EQ(netlink->write(vf, Field::kLink, wanted).error().code, ErrorCode::kIncompatible);
  EXPECT_EQ(netlink->read(VfPlace{vf.pf, 2, ""}).error().code, ErrorCode::kNotFound);
}

TEST(FakeTree, is_read_as_sysfs_is) {
  FakeHost host;
  AdapterSpec spec = mlx5InfiniBand();
  spec.vfs = 8;
  FakeAdapter& adapter = host.add(spec);
  host.add(igb());
  const auto files = host.files();
  const auto pfs = readPfs(*files);
  ASSERT_EQ(pfs.size(), 2U);
  EXPECT_EQ(pfs[0].place.netdev, "ens1");
  EXPECT_EQ(pfs[0].place.layer, LinkLayer::kEthernet);
  EXPECT_EQ(pfs[1].place.rdma, "mlx5_0");
  EXPECT_EQ(pfs[1].place.driver, "mlx5_core");
  EXPECT_EQ(pfs[1].place.layer, LinkLayer::kInfiniBand);
  ASSERT_EQ(pfs[1].vfs.size(), 8U);
  EXPECT_EQ(pfs[1].vfs[7].pci, "0000:3b:01.1");
  EXPECT_EQ(pfs[1].vfs[7].iommu_group, 49);
  EXPECT_EQ(ownAddresses(*files, pfs[0].place).mac, MacAddress::parse("02:00:00:00:00:3b"));
  EXPECT_EQ(ownAddresses(*files, pfs[1].place).port_guid, Guid(0xe41d2d0300aa0001));

  ASSERT_TRUE(files->write("bus/pci/devices/0000:3b:00.0/sriov_numvfs", "1"));
  EXPECT_EQ(readPf(*files, "0000:3b:00.0")->vfs.size(), 1U);
  EXPECT_FALSE(files->exists("bus/pci/devices/0000:3b:01.1"));
  EXPECT_EQ(adapter.vfs().size(), 1U);
  EXPECT_THAT(readPf(*files, "ib9").error().sentence(), HasSubstr("ib9"));
}

TEST(RealFiles, say_what_the_kernel_says) {
  FakeHost host;
  host.file("a/number", "42");
  const auto files = makeSysfsFiles(host.root());
  EXPECT_EQ(files->read("a/number").value(), "42");
  EXPECT_TRUE(files->write("a/number", "43"));
  EXPECT_EQ(files->read("a/number").value(), "43");
  EXPECT_EQ(files->read("a/none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files->write("a/none", "1").error().code, ErrorCode::kNotFound) << "a write makes no file";
  EXPECT_FALSE(files->exists("a/none"));
  EXPECT_THAT(files->list("a"), ElementsAre("number"));
  EXPECT_TRUE(files->list("b").empty());
  EXPECT_EQ(files->linkName("a/number"), "");
  // A file of the real kernel's that refuses: the code is the errno's.
  const auto proc = makeSysfsFiles("/proc/self");
  EXPECT_EQ(proc->write("oom_score_adj", "no number").error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace rdmove::fabric
