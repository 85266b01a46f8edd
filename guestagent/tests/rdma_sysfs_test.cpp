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

TEST_F(RdmaSysfsTest, a_subnet_port_has_its_lid_and_its_p_keys_by_index) {
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  write(port + "link_layer", "InfiniBand");
  write(port + "lid", "0x1b");
  for (int i = 0; i < 6; ++i)
    write(port + "pkeys/" + std::to_string(i), i == 0 ? "0xffff" : i == 2 ? "0x8001" : "0x0000");
  write(port + "gids/0", "fe80:0000:0000:0000:0002:c903:000a:1b2c");
  write(port + "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  EXPECT_EQ(sysfs.subnet_port("mlx5_0"),
            (protocol::SubnetPort{0x1b, {0xffff, 0, 0x8001}, {"fe80:0000:0000:0000:0002:c903:000a:1b2c"}}));
  write(port + "link_layer", "Ethernet");
  EXPECT_EQ(sysfs.subnet_port("mlx5_0"), std::nullopt);
  EXPECT_EQ(sysfs.subnet_port("mlx5_9"), std::nullopt);
}

}  // namespace
}  // namespace rdmove::agent::test
