#include "coordinator/fabric/free_vfs.hpp"

#include <gtest/gtest.h>

namespace rdmove {
namespace {

std::vector<VfInfo> slots(const std::string& bridge, const std::string& pool, int count) {
  std::vector<VfInfo> all;
  for (int i = 0; i < count; ++i) {
    all.push_back({VfName(bridge + "#" + std::to_string(i)), PoolName(pool), "bridge", bridge, {}, {}, {}});
  }
  return all;
}

std::vector<std::string> names(const std::vector<VfInfo>& vfs) {
  std::vector<std::string> out;
  for (const auto& vf : vfs) out.push_back(vf.name.str());
  return out;
}

using Names = std::vector<std::string>;
const PoolName kFabric("fabric");

TEST(FreeVfs, a_leased_slot_is_not_free) {
  EXPECT_EQ(names(freeVfs(slots("br0", "fabric", 3), kFabric, {VfName("br0#1")})), (Names{"br0#0", "br0#2"}));
}

TEST(FreeVfs, an_attached_nic_takes_one_slot_whichever) {
  const auto all = slots("br0", "fabric", 3);
  EXPECT_EQ(names(freeVfs(all, kFabric, {VfName("br0#52:54:00:77:00:01"), VfName("br0#0")})), Names{"br0#1"});
  EXPECT_TRUE(freeVfs(all, kFabric,
                      {VfName("br0#52:54:00:77:00:01"), VfName("br0#52:54:00:77:00:02"),
                       VfName("br0#52:54:00:77:00:03"), VfName("br0#52:54:00:77:00:04")})
                  .empty());
}

TEST(FreeVfs, another_bridges_nic_and_another_pools_vf_do_not_count) {
  auto all = slots("br0", "fabric", 1);
  all.push_back({VfName("0000:3b:00.2"), PoolName("vfs"), "sriov", "ens1", {}, {}, 43});
  EXPECT_EQ(freeVfs(all, kFabric, {VfName("br1#52:54:00:77:00:01"), VfName("0000:3b:00.2")}).size(), 1U);
  EXPECT_TRUE(freeVfs(all, PoolName("vfs"), {VfName("0000:3b:00.2")}).empty());
  EXPECT_EQ(freeVfs(all, PoolName("vfs"), {VfName("br0#52:54:00:77:00:01")}).size(), 1U);
}

TEST(FreeVfs, a_vf_that_vfio_cannot_have_is_not_free) {
  const PoolName pool("vfs");
  const std::vector<VfInfo> all = {{VfName("0000:3b:00.2"), pool, "sriov", "ens1", {}, {}, {}},
                                   {VfName("0000:3b:00.3"), pool, "sriov", "ens1", {}, {}, 43}};
  EXPECT_EQ(names(freeVfs(all, pool, {})), Names{"0000:3b:00.3"});
}

TEST(FreeVfs, nor_is_one_whose_group_the_host_holds_or_whose_pf_is_off) {
  const PoolName pool("vfs");
  std::vector<VfInfo> all(3, {VfName("0000:3b:00.2"), pool, "sriov", "ens1", {}, {}, 42});
  all[1].name = VfName("0000:3b:00.3");
  all[1].group_holders = {"0000:3b:00.0 (mlx5_core)"};
  all[2].name = VfName("0000:3b:00.4");
  all[2].pf_switched_off = true;
  EXPECT_EQ(names(freeVfs(all, pool, {})), Names{"0000:3b:00.2"});
}

}  // namespace
}  // namespace rdmove
