// On a tree of plain files. The real configfs makes the folder's contents itself; that needs a kernel with
// RDMA.
#include "guestagent/agent/rdma_settings.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RdmaSettingsTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder.path / path).parent_path());
    std::ofstream(folder.path / path) << text;
  }
  std::string read(const std::string& path) {
    std::ifstream file(folder.path / path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  void write_device(const std::string& name, const std::string& mode, const std::string& tos) {
    write("kernel/config/rdma_cm/" + name + "/ports/1/default_roce_mode", mode + "\n");
    write("kernel/config/rdma_cm/" + name + "/ports/1/default_roce_tos", tos + "\n");
  }

  TemporaryFolder folder;
  RdmaSettingFiles settings{folder.path};
};

TEST_F(RdmaSettingsTest, go_to_the_successor) {
  write_device("mlx5_0", "IB/RoCE v1", "104");
  write("class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n");
  const auto captured = settings.capture("mlx5_0");
  EXPECT_THAT(captured, ElementsAre(RdmaSetting{"1", "default_roce_mode", "IB/RoCE v1"},
                                    RdmaSetting{"1", "default_roce_tos", "104"},
                                    RdmaSetting{"1", "traffic_class", "106"}));
  write_device("mlx5_3", "RoCE v2", "0");
  write("class/infiniband/mlx5_3/tc/1/traffic_class", "Global tclass=0\n");
  EXPECT_THAT(settings.put_back("mlx5_3", captured), IsEmpty());
  EXPECT_EQ(read("kernel/config/rdma_cm/mlx5_3/ports/1/default_roce_mode"), "IB/RoCE v1");
  EXPECT_EQ(read("kernel/config/rdma_cm/mlx5_3/ports/1/default_roce_tos"), "104");
  EXPECT_EQ(read("class/infiniband/mlx5_3/tc/1/traffic_class"), "106");
}

TEST_F(RdmaSettingsTest, are_nothing_where_the_kernel_has_none) {
  EXPECT_THAT(settings.capture("rxe0"), IsEmpty());
  std::filesystem::create_directories(folder.path / "kernel/config/rdma_cm");
  EXPECT_THAT(settings.capture("rxe0"), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder.path / "kernel/config/rdma_cm/rxe0"))
      << "only made for the look";
}

TEST_F(RdmaSettingsTest, say_what_could_not_be_put_back) {
  EXPECT_THAT(settings.put_back("rxe0", {{"1", "default_roce_tos", "104"}}),
              ElementsAre(HasSubstr("default_roce_tos 104 of rxe0 port 1: No such file or directory")));
}

}  // namespace
}  // namespace rdmove::agent::test
