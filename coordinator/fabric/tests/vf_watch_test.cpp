#include "coordinator/fabric/inventory/vf_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/fabric/pool_fabric.hpp"
#include "coordinator/fabric/tests/fixture/fake_adapter.hpp"

namespace rdmove::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Watch : testing::Test {
  Watch() {
    const PoolConfig pool{PoolName("ib"), PoolConfig::Kind::kSriov, "", 0, {"ib0"}};
    fabric = std::make_unique<PoolFabric>(std::map<PoolName, PoolConfig>{{pool.name, pool}}, host.access());
    changes = std::make_unique<VfChanges>(*fabric, [this](const std::string& line) { told.push_back(line); });
    changes->heard();
  }
  FakeHost host;
  FakeAdapter& adapter = host.add(mlx5InfiniBand());
  std::unique_ptr<Fabric> fabric;
  std::vector<std::string> told;
  std::unique_ptr<VfChanges> changes;
};

TEST_F(Watch, says_nothing_while_nothing_changes) {
  changes->heard();
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(Watch, names_vfs_that_come_go_and_change_their_driver) {
  adapter.unbind(adapter.vfs()[1]);
  changes->heard();
  EXPECT_THAT(told, ElementsAre("0000:3b:00.3 of pool ib has driver none, before vfio-pci"));
  told.clear();
  adapter.setVfs(1);
  changes->heard();
  EXPECT_THAT(told, ElementsAre("0000:3b:00.3 of pool ib is gone"));
  told.clear();
  adapter.setVfs(2);
  changes->heard();
  EXPECT_THAT(told, ElementsAre("0000:3b:00.3 of pool ib is there"));
}

TEST_F(Watch, a_pf_that_is_gone_takes_its_vfs_along_and_brings_them_back) {
  host.remove("class/net/ib0");
  changes->heard();
  changes->heard();
  EXPECT_THAT(told, ElementsAre("0000:3b:00.2 of pool ib is gone", "0000:3b:00.3 of pool ib is gone"));
  told.clear();
  host.link("class/net/ib0/device", "0000:3b:00.0");
  adapter.setVfs(1);
  changes->heard();
  EXPECT_THAT(told, ElementsAre("0000:3b:00.2 of pool ib is there"));
}

TEST_F(Watch, looks_by_itself_when_it_is_started) {
  const auto watch = watchVfs(*fabric, [](const std::string&) {});
  EXPECT_TRUE(watch) << watch.error().sentence();
}

}  // namespace
}  // namespace rdmove::fabric
