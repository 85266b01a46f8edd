#include "coordinator/preflight/pool_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/service/config.hpp"

namespace rdmove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

VfInfo vf(const std::string& name) {
  VfInfo info{VfName(name), PoolName("fabric"), "sriov", "ens1", {}, "vfio-pci", 7};
  info.pf = "0000:3b:00.0";
  return info;
}

PfInfo pf() {
  PfInfo info;
  info.pci = "0000:3b:00.0";
  info.pool = PoolName("fabric");
  info.netdev = "ens1";
  info.rdma = "mlx5_0";
  info.vfs = 4;
  info.most_vfs = 8;
  info.link = "up";
  return info;
}

PoolConfig pool() {
  PoolConfig config;
  config.name = PoolName("fabric");
  config.kind = PoolConfig::Kind::kSriov;
  config.pfs = {"ens1"};
  return config;
}

std::vector<std::string> codes(const std::vector<PoolTrouble>& troubles) {
  std::vector<std::string> out;
  for (const auto& [named, finding] : troubles) {
    EXPECT_EQ(named, "ens1");
    EXPECT_FALSE(finding.sentence.empty());
    EXPECT_FALSE(finding.remedy.empty()) << finding.code;
    EXPECT_EQ(finding.host, "hostb");
    out.push_back(finding.code);
  }
  return out;
}

TEST(PoolCount, tells_who_has_what) {
  auto used = vf("0000:3b:00.6");
  used.users.push_back({});
  const std::vector<VfInfo> all = {vf("0000:3b:00.2"), vf("0000:3b:00.3"), vf("0000:3b:00.4"),
                                   vf("0000:3b:00.5"), used};
  const std::map<VfName, Occupant> occupants = {{VfName("0000:3b:00.2"), {"vm1", true}},
                                                {VfName("0000:3b:00.3"), {"vm3", false}}};
  const auto count = countPool(all, PoolName("fabric"), occupants, {VfName("0000:3b:00.4")});
  EXPECT_EQ(toString(count), "1 free, 1 with running VMs, 1 leased, 1 claimed (vm3), 1 used by this host");
}

TEST(PoolCount, a_vf_that_vfio_cannot_have_is_counted_as_that) {
  auto bare = vf("0000:3b:00.3");
  bare.iommu_group.reset();
  EXPECT_EQ(toString(countPool({vf("0000:3b:00.2"), bare}, PoolName("fabric"), {}, {})),
            "1 free, 1 without an IOMMU group");
}

TEST(PoolCount, a_vf_that_could_not_be_attached_is_counted_as_that) {
  auto shared = vf("0000:3b:00.3");
  shared.group_holders = {"0000:3b:00.0 (mlx5_core)"};
  auto off = vf("0000:3b:00.4");
  off.pf_switched_off = true;
  EXPECT_EQ(toString(countPool({vf("0000:3b:00.2"), shared, off}, PoolName("fabric"), {}, {})),
            "1 free, 1 in a shared IOMMU group, 1 of a PF that is down");
}

TEST(PoolCount, a_lease_of_a_vm_that_runs_counts_once) {
  const auto count = countPool({vf("0000:3b:00.2")}, PoolName("fabric"),
                               {{VfName("0000:3b:00.2"), {"vm1", true}}}, {VfName("0000:3b:00.2")});
  EXPECT_EQ(toString(count), "0 free, 1 with running VMs");
}

TEST(PoolCount, nics_on_a_bridge_take_slots) {
  std::vector<VfInfo> all;
  for (int slot = 0; slot < 3; ++slot)
    all.push_back({VfName("br0#" + std::to_string(slot)), PoolName("soft"), "bridge", "br0", {}, "", {}});
  const auto count = countPool(all, PoolName("soft"), {{VfName("br0#52:54:00:77:00:01"), {"vm1", true}}}, {});
  EXPECT_EQ(toString(count), "2 free, 1 with running VMs");
}

TEST(PoolTroubles, none_of_a_pool_that_is_whole) {
  EXPECT_THAT(poolTroubles(pool(), {pf()}, {vf("0000:3b:00.2")}, "hostb"), IsEmpty());
  PoolConfig bridge;
  bridge.name = PoolName("soft");
  EXPECT_THAT(poolTroubles(bridge, {}, {}, "hostb"), IsEmpty());
}

TEST(PoolTroubles, each_has_its_code) {
  EXPECT_THAT(codes(poolTroubles(pool(), {}, {}, "hostb")), ElementsAre("pf-gone"));
  auto other_pool = pf();
  other_pool.pool = PoolName("storage");
  EXPECT_THAT(codes(poolTroubles(pool(), {other_pool}, {}, "hostb")), ElementsAre("pf-gone"));
  auto empty = pf();
  empty.vfs = 0;
  const auto without = poolTroubles(pool(), {empty}, {}, "hostb");
  EXPECT_THAT(codes(without), ElementsAre("pf-without-vfs"));
  EXPECT_THAT(without[0].finding.remedy,
              HasSubstr("at most 8, to /sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs"));
  auto down = pf();
  down.link = "down";
  const auto warned = poolTroubles(pool(), {down}, {}, "hostb");
  EXPECT_THAT(codes(warned), ElementsAre("pf-down"));
  EXPECT_EQ(warned[0].finding.severity, Severity::kWarning) << "a cable may be put in meanwhile";
  auto off = pf();
  off.rdma.clear();
  EXPECT_THAT(codes(poolTroubles(pool(), {off}, {}, "hostb")), ElementsAre("rdma-off"));
  auto soft = pool();
  soft.soft_roce = true;
  EXPECT_THAT(poolTroubles(soft, {off}, {}, "hostb"), IsEmpty()) << "the guest makes its RDMA device";
  auto bare = vf("0000:3b:00.2");
  bare.iommu_group.reset();
  EXPECT_THAT(codes(poolTroubles(pool(), {pf()}, {bare}, "hostb")), ElementsAre("no-iommu"));
  auto shared = vf("0000:3b:00.2");
  shared.group_holders = {"0000:3b:00.0 (mlx5_core)"};
  const auto named = poolTroubles(pool(), {pf()}, {shared}, "hostb");
  EXPECT_THAT(codes(named), ElementsAre("shared-iommu-group"));
  EXPECT_EQ(named[0].finding.sentence,
            "VF 0000:3b:00.2 shares IOMMU group 7 with 0000:3b:00.0 (mlx5_core), which the host uses.");
  auto switched_off = pf();
  switched_off.switched_off = true;
  switched_off.link = "down";
  const auto refused = poolTroubles(pool(), {switched_off}, {}, "hostb");
  EXPECT_THAT(codes(refused), ElementsAre("pf-off"));
  EXPECT_EQ(refused[0].finding.severity, Severity::kError) << "libvirt attaches none of its VFs";
}

TEST(PoolTroubles, a_pf_may_be_named_by_its_address) {
  auto by_address = pool();
  by_address.pfs = {"0000:3b:00.0"};
  EXPECT_THAT(poolTroubles(by_address, {pf()}, {}, "hostb"), IsEmpty());
}

TEST(ModelOf, is_the_drivers) {
  auto one = vf("0000:3b:00.2");
  EXPECT_EQ(modelOf(one), std::nullopt);
  one.link_layer = "InfiniBand";
  one.pf_driver = "mlx5_core";
  EXPECT_EQ(modelOf(one), Model::kVirtualSwitch);
  one.pf_driver = "mlx4_core";
  EXPECT_EQ(modelOf(one), Model::kSharedPort);
  one.link_layer = "Ethernet";
  EXPECT_EQ(modelOf(one), Model::kRoce);
}

TEST(Fits, models_have_their_link_layer) {
  EXPECT_TRUE(fits(Model::kRoce, "Ethernet"));
  EXPECT_FALSE(fits(Model::kRoce, "InfiniBand"));
  EXPECT_TRUE(fits(Model::kSharedPort, "InfiniBand"));
  EXPECT_FALSE(fits(Model::kVirtualSwitch, "Ethernet"));
  EXPECT_TRUE(fits(Model::kVirtualSwitch, "unknown"));
}

}  // namespace
}  // namespace rdmove
