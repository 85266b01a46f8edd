// A sriov pool over a made-up sysfs tree and a port that remembers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "coordinator/fabric/pool_fabric.hpp"

namespace rdmove::fabric {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FakePort : public VfPort {
 public:
  explicit FakePort(std::map<std::string, VfState>& states) : states_(states) {}
  Result<VfState> read(const std::string& pf, unsigned index) override {
    const auto found = states_.find(pf + "/" + std::to_string(index));
    if (found == states_.end()) return failure(ErrorCode::kNotFound, "read", "no such VF");
    return found->second;
  }
  Result<void> clear(const std::string& pf, unsigned index) override {
    if (!stubborn) states_[pf + "/" + std::to_string(index)] = {MacAddress{}, 0};
    ++cleared;
    return {};
  }
  bool stubborn = false;
  int cleared = 0;

 private:
  std::map<std::string, VfState>& states_;
};

class SriovPool : public testing::Test {
 protected:
  SriovPool() {
    std::string pattern = (fs::temp_directory_path() / "rdmove-sysfs-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    makePf("0000:3b:00.0", "ens1");
    makeVf("0000:3b:00.0", 1, "0000:3b:00.3", "vfio-pci", "42");
    makeVf("0000:3b:00.0", 0, "0000:3b:00.2", "mlx5_core", "");
    makeVf("0000:3b:00.0", 10, "0000:3b:01.4", "", "");
    makePf("0000:af:00.0", "ib0");
    makeVf("0000:af:00.0", 0, "0000:af:00.1", "vfio-pci", "7");
    PoolConfig roce{PoolName("roce"), PoolConfig::Kind::kSriov, "", 0, {"ens1"}};
    PoolConfig ib{PoolName("ib"), PoolConfig::Kind::kSriov, "", 0, {"0000:af:00.0"}};
    states["ens1/0"] = {kMac, 7};
    states["ens1/1"] = {MacAddress::parse("52:54:00:77:00:02"), 0};
    states["ib0/0"] = {std::nullopt, 0};
    auto owned = std::make_unique<FakePort>(states);
    port = owned.get();
    fabric = std::make_unique<PoolFabric>(std::map<PoolName, PoolConfig>{{roce.name, roce}, {ib.name, ib}},
                                          root_, std::move(owned));
  }
  ~SriovPool() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void makePf(const std::string& pci, const std::string& netdev) {
    const fs::path device = root_ / "bus/pci/devices" / pci;
    fs::create_directories(device / "net" / netdev);
    fs::create_directories(root_ / "class/net" / netdev);
    fs::create_directory_symlink(device, root_ / "class/net" / netdev / "device");
  }
  void makeVf(const std::string& pf, int index, const std::string& pci, const std::string& driver,
              const std::string& group) {
    const fs::path devices = root_ / "bus/pci/devices";
    fs::create_directories(devices / pci);
    fs::create_directory_symlink("../" + pci, devices / pf / ("virtfn" + std::to_string(index)));
    if (!driver.empty()) fs::create_symlink("../../drivers/" + driver, devices / pci / "driver");
    if (!group.empty()) fs::create_symlink("../../iommu_groups/" + group, devices / pci / "iommu_group");
  }
  static std::string hostdev(const std::string& bus, const std::string& function) {
    return "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0x" +
           bus + "' slot='0x00' function='0x" + function + "'/></source><alias name='ua-rdma0'/></hostdev>";
  }

  const std::optional<MacAddress> kMac = MacAddress::parse("52:54:00:77:00:01");
  fs::path root_;
  std::map<std::string, VfState> states;
  FakePort* port = nullptr;
  std::unique_ptr<PoolFabric> fabric;
};

TEST_F(SriovPool, lists_vfs_by_index_with_driver_mac_and_group) {
  const auto vfs = fabric->vfs();
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  ASSERT_EQ(vfs->size(), 4U);
  EXPECT_EQ((*vfs)[0].name, VfName("0000:af:00.1"));
  EXPECT_FALSE((*vfs)[0].mac) << "an InfiniBand PF tells no MAC";
  EXPECT_EQ((*vfs)[1].name, VfName("0000:3b:00.2"));
  EXPECT_EQ((*vfs)[1].driver, "mlx5_core");
  EXPECT_EQ((*vfs)[1].mac, kMac);
  EXPECT_FALSE((*vfs)[1].iommu_group);
  EXPECT_EQ((*vfs)[2].driver, "vfio-pci");
  EXPECT_EQ((*vfs)[2].iommu_group, 42);
  EXPECT_EQ((*vfs)[2].parent, "ens1");
  EXPECT_EQ((*vfs)[3].name, VfName("0000:3b:01.4"));
  EXPECT_EQ((*vfs)[3].driver, "");
  EXPECT_FALSE(fabric->softRoce(PoolName("roce")));
}

TEST(SriovPoolOfPlainVfs, has_its_rdma_device_made_by_the_guest) {
  PoolConfig plain{PoolName("plain"), PoolConfig::Kind::kSriov, "", 0, {"ens1"}, true};
  const PoolFabric fabric({{plain.name, plain}}, "/nonexistent", nullptr);
  EXPECT_TRUE(fabric.softRoce(plain.name));
}

TEST_F(SriovPool, a_pf_that_is_not_there_is_named) {
  fs::remove_all(root_ / "class/net/ens1");
  const auto vfs = fabric->vfs();
  ASSERT_FALSE(vfs);
  EXPECT_EQ(vfs.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(vfs.error().sentence(), HasSubstr("ens1"));
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
  MovingVf moving;
  moving.declaration.alias = DeviceAlias("ua-rdma0");
  moving.declaration.pool = PoolName("roce");
  moving.device_xml = "<hostdev mode='subsystem' type='pci' managed='no'><alias name='ua-rdma0'/></hostdev>";
  const auto bound = fabric->bind(VfName("0000:3b:00.3"), moving);
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_EQ(fabric->locate(PoolName("roce"), *bound).value(), VfName("0000:3b:00.3"));
  EXPECT_EQ(fabric->bind(VfName("0000:af:00.1"), moving).error().code, ErrorCode::kNotFound);
}

TEST_F(SriovPool, takes_mac_and_vlan_off_and_reads_that_back) {
  EXPECT_TRUE(fabric->takeIdentity(VfName("0000:3b:00.2"), {kMac, 7, {}, {}}));
  EXPECT_EQ(states["ens1/0"].mac, MacAddress{});
  EXPECT_EQ(states["ens1/0"].vlan, 0);
  EXPECT_TRUE(fabric->takeIdentity(VfName("0000:3b:00.2"), {kMac, 7, {}, {}})) << "again is success";
  EXPECT_EQ(port->cleared, 1);
}

TEST_F(SriovPool, leaves_alone_what_libvirt_put_back) {
  EXPECT_TRUE(fabric->takeIdentity(VfName("0000:3b:00.3"), {kMac, {}, {}, {}}));
  EXPECT_EQ(port->cleared, 0);
}

TEST_F(SriovPool, says_so_when_the_identity_stays) {
  port->stubborn = true;
  const auto taken = fabric->takeIdentity(VfName("0000:3b:00.2"), {kMac, 7, {}, {}});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
  EXPECT_THAT(taken.error().sentence(), HasSubstr("52:54:00:77:00:01 and VLAN 7"));
}

TEST_F(SriovPool, refuses_what_it_cannot_take) {
  EXPECT_EQ(
      fabric->takeIdentity(VfName("0000:af:00.1"), {{}, {}, "00:11:22:33:44:55:66:77", {}}).error().code,
      ErrorCode::kRefused);
  EXPECT_EQ(fabric->takeIdentity(VfName("0000:99:00.1"), {kMac, {}, {}, {}}).error().code,
            ErrorCode::kNotFound);
}

TEST(NetlinkVfPort, an_interface_without_vfs_has_none) {
  const auto port = makeNetlinkVfPort();
  EXPECT_EQ(port->read("lo", 0).error().code, ErrorCode::kNotFound);
  const auto missing = port->read("no-such-if0", 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound) << missing.error().sentence();
  EXPECT_FALSE(port->clear("no-such-if0", 0));
}

}  // namespace
}  // namespace rdmove::fabric
