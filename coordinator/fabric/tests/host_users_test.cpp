#include "coordinator/fabric/inventory/host_users.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"
#include "coordinator/fabric/tests/own_network.hpp"

namespace rdmove::fabric {
namespace {

TEST(HostUsersTest, finds_a_real_process_by_what_it_has_open) {
  const auto files = makeSysfsFiles();
  const auto users = makeHostUsers(*files);
  // Any file will do for the walk through /proc: there is no RDMA device here.
  std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-users-XXXXXX").string();
  const int fd = mkstemp(pattern.data());
  ASSERT_GE(fd, 0);
  const int again = dup(fd);
  const auto found = users->of({{{pattern}, {}}, {{"/no/such/file"}, {}}});
  close(fd);
  close(again);
  unlink(pattern.c_str());
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].size(), 1U) << "open twice is one user";
  EXPECT_EQ(found[0][0].pid, getpid());
  EXPECT_EQ(found[0][0].what, pattern);
  EXPECT_FALSE(found[0][0].name.empty());
  EXPECT_TRUE(found[1].empty());
}

TEST(HostUsersTest, a_group_that_several_vfs_share_is_held_for_all_of_them) {
  FakeHost host;
  FakeAdapter& adapter = host.add(mlx5InfiniBand());
  host.link("bus/pci/devices/" + adapter.vfs()[1].pci + "/iommu_group", "42");
  host.process(5, "dpdk", "/dev/vfio/42");
  const HostAccess access = host.access();
  const auto found = access.users->of(
      {handlesOf(*access.files, adapter.vfs()[0].pci), handlesOf(*access.files, adapter.vfs()[1].pci)});
  EXPECT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[1].size(), 1U);
}

TEST(HostUsersTest, handles_are_what_the_driver_made) {
  FakeHost host;
  FakeAdapter& adapter = host.add(mlx5Ethernet());
  const auto files = host.files();
  const std::string pci = adapter.vfs()[0].pci;
  EXPECT_EQ(handlesOf(*files, pci).devices, std::vector<std::string>{"/dev/vfio/42"});
  adapter.unbind(adapter.vfs()[0]);
  EXPECT_TRUE(handlesOf(*files, pci).devices.empty()) << "without VFIO the group is nobody's";
  adapter.bind(adapter.vfs()[0], "mlx5_core");
  EXPECT_EQ(handlesOf(*files, pci).devices, std::vector<std::string>{"/dev/infiniband/uverbs10"});
  EXPECT_EQ(handlesOf(*files, pci).netdevs, std::vector<std::string>{"ens1v0"});
}

TEST(HostUsersTest, an_interface_with_an_address_is_in_use) {
  const int wrong = inOwnNetwork([] {
    // The loopback stands for a VF's interface: its addresses are the kernel's real ones.
    FakeHost host;
    const auto files = host.files();
    const auto users = makeHostUsers(*files, host.root() / "proc");
    if (!users->of({{{}, {"lo"}}})[0].empty()) return 1;
    if (std::system("ip address add 192.0.2.1/24 dev lo") != 0) return 2;
    const auto found = users->of({{{}, {"lo"}}})[0];
    return found == std::vector<VfUser>{{0, "lo", "lo has an address"}} ? 0 : 3;
  });
  if (wrong == kNoNamespace) GTEST_SKIP() << "a network namespace needs root";
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rdmove::fabric
