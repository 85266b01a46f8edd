#include "guestagent/agent/proc_scan.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

using protocol::Holdout;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ProcScanTest : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder.path / path).parent_path());
    std::ofstream(folder.path / path) << text << "\n";
  }
  void process(int pid, const std::string& name, const std::vector<std::string>& targets) {
    const auto base = "proc/" + std::to_string(pid);
    file(base + "/comm", name);
    std::filesystem::create_directories(folder.path / base / "fd");
    for (std::size_t i = 0; i < targets.size(); ++i) {
      std::filesystem::create_symlink(targets[i], folder.path / base / "fd" / std::to_string(i));
    }
  }
  void SetUp() override {
    file("sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0");
    file("sys/class/infiniband_verbs/uverbs1/ibdev", "mlx5_0");
    file("sys/class/infiniband_verbs/abi_version", "6");
    process(1, "init", {"/dev/null", "socket:[1]"});
    process(42, "pingpong",
            {"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"});
    process(43, "both", {"/dev/infiniband/uverbs1", "/dev/infiniband/uverbs0 (deleted)"});
    process(44, "channel", {"anon_inode:[infinibandevent]"});
    process(45, "lookalike", {"/home/uverbs", "/dev/infiniband/uverbs10", "pipe:[uverbs0]"});
    file("proc/meminfo", "not a process");
    std::filesystem::create_directories(folder.path / "proc/46");  // ends while we look
  }

  TemporaryFolder folder;
  RdmaSysfs sysfs{folder.path / "sys"};
  ProcScan scan{folder.path / "proc", sysfs};
};

TEST_F(ProcScanTest, names_each_process_once_per_device) {
  EXPECT_THAT(scan.holding({}),
              UnorderedElementsAre(Holdout{42, "pingpong", "rxe0"}, Holdout{43, "both", "rxe0"},
                                   Holdout{43, "both", "mlx5_0"}));
}

TEST_F(ProcScanTest, looks_only_at_the_devices_asked_for) {
  EXPECT_THAT(scan.holding({"mlx5_0"}), ElementsAre(Holdout{43, "both", "mlx5_0"}));
  EXPECT_THAT(scan.holding({"other"}), IsEmpty());
}

TEST_F(ProcScanTest, finds_what_a_hanging_deletion_waits_for) {
  std::filesystem::remove_all(folder.path / "sys/class/infiniband_verbs/uverbs0");
  EXPECT_THAT(scan.holding_a_channel(),
              UnorderedElementsAre(Holdout{42, "pingpong", ""}, Holdout{43, "both", ""},
                                   Holdout{44, "channel", ""}, Holdout{45, "lookalike", ""}));
}

TEST_F(ProcScanTest, needs_no_rdma_at_all) {
  RdmaSysfs nothing(folder.path / "nowhere");
  EXPECT_THAT(ProcScan(folder.path / "proc", nothing).holding({}), IsEmpty());
  EXPECT_THAT(nothing.devices(), IsEmpty());
}

TEST_F(ProcScanTest, sysfs_gives_gids_counters_and_state) {
  const std::string port = "sys/class/infiniband/rxe0/ports/1";
  file(port + "/state", "4: ACTIVE");
  file(port + "/gids/0", "fe80:0000:0000:0000:5054:00ff:fe00:0001");
  file(port + "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  file(port + "/gids/2", "0000:0000:0000:0000:0000:ffff:0a00:0005");
  file(port + "/gid_attrs/types/2", "RoCE v2");
  file(port + "/hw_counters/sent_pkts", "12");
  file(port + "/hw_counters/lifespan", "10");
  file(port + "/counters/port_xmit_data", "34");
  file("sys/class/net/eth0/statistics/rx_bytes", "56");
  EXPECT_EQ(sysfs.port_state("rxe0"), "ACTIVE");
  const auto gids = sysfs.gids("rxe0", {});
  ASSERT_EQ(gids.size(), 2U);
  EXPECT_EQ(gids[1], (protocol::GidEntry{2, "0000:0000:0000:0000:0000:ffff:0a00:0005", "RoCE v2"}));
  EXPECT_EQ(sysfs.gids("rxe0", {gids[1].gid}), gids) << "a gap before what is wanted is read over";
  EXPECT_EQ(sysfs.gids("rxe0", {gids[0].gid}).size(), 1U) << "and one after it is the end";
  EXPECT_EQ(sysfs.gids("rxe0", {gids[0].gid, "not there"}), gids);
  EXPECT_THAT(sysfs.counters("rxe0", 1, "eth0"),
              ElementsAre(testing::Pair("netdev_rx_bytes", 56), testing::Pair("port_xmit_data", 34),
                          testing::Pair("sent_pkts", 12)));
}

}  // namespace
}  // namespace rdmove::agent::test
