// What is read out of virsh's, the guest's and the daemons' words, and how commands get to hosts.
#include "migration-tests/harness/view.hpp"

#include <gmock/gmock.h>

#include "migration-tests/harness/process.hpp"
#include "migration-tests/harness/site.hpp"
#include "migration-tests/harness/watch.hpp"

namespace rdmove::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kDomain = R"(<domain type='qemu' id='3'><name>vm1</name>
<metadata><r:rdma xmlns:r='urn:rdmove:domain:1'><r:vf alias='ua-rdma0' pool='fabric'><r:identity mac='52:54:00:77:00:01'/></r:vf></r:rdma>
<other xmlns='urn:x'><vf alias='ua-not'/></other></metadata>
<devices>
<interface type='bridge'><mac address='52:54:00:88:00:01'/><alias name='ua-lan0'/></interface>
<interface type='bridge'><mac address='52:54:00:77:00:01'/><alias name='ua-rdma0'/>
<address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/></interface>
<serial type='pty'><log file='/var/log/vm1.log' append='on'/></serial></devices></domain>)";

TEST(DomainXml, moving_devices_are_found_by_the_metadata) {
  EXPECT_THAT(movingAliases(kDomain), ElementsAre("ua-rdma0"));
  const Devices devices = devicesOf(kDomain, movingAliases(kDomain));
  EXPECT_EQ(devices.at("ua-rdma0"), (DeviceView{1, "52:54:00:77:00:01", "0000:06:00.0"}));
  EXPECT_EQ(consoleLog(kDomain), "/var/log/vm1.log");
  EXPECT_EQ(devicesOf("", {"ua-rdma0"}).at("ua-rdma0").count, 0);
}

TEST(DomainXml, the_metadata_is_the_same_under_another_prefix) {
  const std::string other =
      "<domain><metadata><rdma xmlns='urn:rdmove:domain:1'><vf alias='ua-rdma0' pool='fabric'>"
      "<identity mac='52:54:00:77:00:01'/></vf></rdma></metadata></domain>";
  EXPECT_FALSE(rdmaMetadata(kDomain).empty());
  EXPECT_EQ(rdmaMetadata(kDomain), rdmaMetadata(other));
  EXPECT_EQ(rdmaMetadata("<domain/>"), "");
}

TEST(Ticks, only_whole_lines_count) {
  EXPECT_THAT(ticksOf("ick 3\r\ntick 4\r\nlogin: tick 5\ntick 6x\ntick 7\ntick 8"), ElementsAre(4, 7));
}

TEST(Load, is_the_first_line_of_the_status_file) {
  const LoadView load = loadOf(
      "{\"connections\":4,\"up\":3,\"delivered\":9,\"lost\":1,\"duplicated\":2,\"reordered\":3,\"corrupted\":"
      "4}\n{}\n");
  EXPECT_TRUE(load.answers);
  EXPECT_EQ(load.connections, 4U);
  EXPECT_EQ(load.up, 3U);
  EXPECT_EQ(load.delivered, 9U);
  EXPECT_EQ(load.lost + load.duplicated * 10 + load.reordered * 100 + load.corrupted * 1000, 4321U);
  EXPECT_FALSE(loadOf("").answers);
}

TEST(Word, is_of_this_vm) {
  const std::string line =
      R"({"migration":{"id":"m1","role":"arrival","domain":"vm1","phase":"Plugging","outcome":"Running"}})";
  EXPECT_EQ(wordOf("hostb", line, "vm1"), (Word{"hostb", "m1", "arrival", "Plugging", "Running"}));
  EXPECT_EQ(wordOf("hostb", line, "vm1")->at(), "arrival.Plugging");
  EXPECT_FALSE(wordOf("hostb", line, "vm2"));
  EXPECT_FALSE(wordOf("hostb", "rdmove: lost contact", "vm1"));
}

TEST(Process, output_status_and_lateness_are_told) {
  const Ended ended = run(Words{"sh", "-c", "echo out; echo err >&2; exit 3"}, std::chrono::seconds(20));
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.output, "out\nerr\n");
  EXPECT_FALSE(ended.late);
  EXPECT_TRUE(run(Words{"sleep", "1000"}, std::chrono::milliseconds(10)).late);
  EXPECT_EQ(run(Words{"/nosuch/program"}, std::chrono::seconds(20)).status, 127);
}

TEST(Process, what_it_leaves_running_does_not_keep_us_waiting) {
  const Ended ended = run(Words{"sh", "-c", "sleep 30 & echo $!"}, std::chrono::seconds(20));
  EXPECT_FALSE(ended.late);
  run(Words{"kill", ended.output.substr(0, ended.output.size() - 1)}, std::chrono::seconds(20));
}

TEST(Process, lines_come_whole) {
  Child child({"sh", "-c", "printf 'one\\ntwo\\nthr'; read -r x"});
  child.wait(std::chrono::seconds(20));
  EXPECT_THAT(child.lines(), ElementsAre("one", "two"));
  EXPECT_TRUE(child.lines().empty());
}

constexpr const char* kHosts = R"(
[hosts.hosta]
address = "10.0.0.1"
run = ["ssh", "-o", "A=1", "-o", "B=2", "root@hosta"]
[hosts.hostb]
address = "10.0.0.2"
run = ["ssh", "root@hostb"]
rdmove = "/opt/rdmove"
socket = "/run/x.sock"
power_off = "ipmitool off"
power_on = "ipmitool on"
[guests.vm1]
address = "10.1.0.1"
run = ["ssh", "root@vm1"]
[guests.peer]
address = "10.1.0.2"
run = ["ssh", "root@peer"]
)";

TEST(HostsFile, is_read) {
  const auto site = parseSite(kHosts, "h.toml");
  ASSERT_TRUE(site) << site.error().sentence();
  ASSERT_EQ(site->hosts.size(), 2U);
  EXPECT_THAT(site->hosts[0].prefix, ElementsAre("ssh", "-o", "A=1", "-o", "B=2", "root@hosta"));
  const Host& b = site->hosts[1];
  EXPECT_EQ(b.name, "hostb");
  EXPECT_THAT(b.on("uptime").words(), ElementsAre("ssh", "root@hostb", "uptime"));
  EXPECT_EQ(b.rdmoveWords(), "/opt/rdmove --socket '/run/x.sock' ");
  EXPECT_THAT(b.power_off.words(), ElementsAre("sh", "-c", "ipmitool off"));
  EXPECT_THAT(b.start_daemon.text, HasSubstr("systemctl start rdmoved"));
  EXPECT_EQ(site->guests.at("peer").address, "10.1.0.2");
  EXPECT_TRUE(site->remake.empty());
}

TEST(HostsFile, what_is_wrong_is_refused_with_file_line_and_key) {
  const auto refusal = [](const std::string& text) {
    const auto read = parseSite(text, "h.toml");
    return read ? "it was read" : read.error().sentence();
  };
  EXPECT_THAT(refusal("[hosts.a]\naddress = \"x\"\nrun = [\"ssh\"]\nuri = 1\n"),
              HasSubstr("h.toml:4:1: hosts.a.uri: there is no such key"));
  EXPECT_THAT(refusal("[hosts.a]\nrun = [\"ssh\"]\n"), HasSubstr("hosts.a.address"));
  EXPECT_THAT(refusal("[hosts.a]\naddress = \"x\"\nrun = \"ssh\"\n"), HasSubstr("h.toml:3:1: hosts.a.run"));
  EXPECT_THAT(refusal("[hosts.a]\naddress = \"x\"\nrun = [\"ssh\"]\n"), HasSubstr("two tables"));
}

}  // namespace
}  // namespace rdmove::harness
