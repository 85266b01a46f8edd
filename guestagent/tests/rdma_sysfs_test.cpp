// On a tree as sysfs has it for an mlx5 function with an IPoIB interface and a P_Key child.
#include "guestagent/agent/rdma_sysfs.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

class RdmaSysfsTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder.path / path).parent_path());
    std::ofstream(folder.path / path) << text << "\n";
  }
  void interface(const std::string& name, const std::string& type, const std::string& port) {
    std::filesystem::create_directories(folder.path / "class/infiniband/mlx5_0/device/net" / name);
    write("class/net/" + name + "/type", type);
    write("class/net/" + name + "/dev_port", port);
  }

  TemporaryFolder folder;
  RdmaSysfs sysfs{folder.path};
};

TEST_F(RdmaSysfsTest, the_ipoib_interface_of_port_1_is_no_child_and_no_other_port) {
  EXPECT_EQ(sysfs.ipoib_netdev("mlx5_0"), "");
  interface("eth9", "1", "0");
  interface("ib1", "32", "1");
  interface("ib0.8001", "32", "0");
  write("class/net/ib0.8001/parent", "ib0");
  EXPECT_EQ(sysfs.ipoib_netdev("mlx5_0"), "");
  interface("ib0", "32", "0");
  EXPECT_EQ(sysfs.ipoib_netdev("mlx5_0"), "ib0");
}

}  // namespace
}  // namespace rdmove::agent::test
