#include "guestagent/agent/capture.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

Capture example() {
  CapturedLink vlan{7, "eth0.5", mac, 1400, true, {{"10.5.0.1/24", {9, 8}}}, {}, {},
                    VlanTag{5, 0x88a8, 1, {{3, 4}}, {{0, 3}, {6, 5}}}, {}};
  CapturedLink link{
      2,  "eth0", mac, 9000, true, {{"10.0.0.5/24", {0, 255}}}, {{"default", {1}}}, {{"10.0.0.1", {}}},
      {}, {vlan}};
  return {*protocol::MigrationId::parse("m1"),
          {{soft, link, "rxe0", {{1, "0000:0000:0000:0000:0000:ffff:0a00:0005", "RoCE v2"}}}}};
}

TEST(Capture, survives_the_file) {
  const TemporaryFolder folder;
  CaptureStore store(folder.path, "boot");
  ASSERT_TRUE(store.save(example()));
  EXPECT_EQ(CaptureStore(folder.path, "boot").load(), example());
  struct stat status {};
  ASSERT_EQ(::stat((folder.path / "captured-m1.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  store.remove(example().migration);
  EXPECT_FALSE(store.load());
}

TEST(Capture, survives_the_file_with_all_that_infiniband_and_dhcp_have) {
  const auto guid = *protocol::PortGuid::parse("00:02:c9:03:00:0a:1b:2c");
  auto capture = example();
  auto& device = capture.devices[0];
  device.target = {"ua-rdma0", guid, DeviceKind::Vf};
  device.link.identity = guid;
  device.link.addresses[0].expires = true;
  device.link.rules = {{"rule 100 iif ib0 table 77", {1, 2}}};
  device.link.altnames = {"ibp7s0"};
  device.link.ipoib = IpoibSettings{0xffff, 1, 1};
  device.link.children[0].ipoib = IpoibSettings{0x8001, 0, 0};
  device.managed_by = "NetworkManager";
  device.leases = {{"ib0", 2, "10.0.0.5/24", "dhclient", {0xff, 0}, dhcp::Identity::Known}};
  device.settings = {{"1", "default_roce_mode", "RoCE v2"}};
  const auto back = parse_capture(to_text(capture, "boot"), "boot");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, capture);
}

// As the first agent wrote it: the guest may be prepared while its agent is upgraded.
TEST(Capture, of_an_older_agent_is_read) {
  const auto old = parse_capture(R"({"boot_id":"boot","devices":[{"gids":[],"link":{"addresses":[
      {"message":"0218","text":"10.0.0.5/24"}],"children":[],"index":2,"mac":"52:54:00:00:00:01","mtu":1500,
      "neighbours":[],"netdev":"eth0","routes":[],"up":true},"rdma":"rxe0","target":{"alias":"ua-rdma0",
      "kind":"soft-roce","mac":"52:54:00:00:00:01"}}],"format":1,"migration":"m1"})",
                                 "boot");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->devices[0].link.addresses[0].text, "10.0.0.5/24");
  EXPECT_EQ(old->devices[0].target, soft);
  EXPECT_FALSE(parse_capture(R"({"boot_id":"boot","devices":[],"format":3,"migration":"m1"})", "boot"));
}

TEST(Capture, is_not_used_after_a_reboot_or_when_torn) {
  const TemporaryFolder folder;
  CaptureStore store(folder.path, "boot");
  ASSERT_TRUE(store.save(example()));
  EXPECT_FALSE(CaptureStore(folder.path, "next boot").load());
  std::ofstream(folder.path / "captured-m1.json") << to_text(example(), "boot").substr(0, 100);
  EXPECT_FALSE(store.load());
}

TEST(Capture, fails_to_save_with_a_reason) {
  CaptureStore store("/proc/no-such-folder", "boot");
  const auto saved = store.save(example());
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, testing::HasSubstr("captured-m1.json"));
}

TEST(GidOfAddress, is_mapped_for_ipv4_and_plain_for_ipv6) {
  EXPECT_EQ(gid_of_address("10.0.0.5/24"), "0000:0000:0000:0000:0000:ffff:0a00:0005");
  EXPECT_EQ(gid_of_address("fe80::1/64"), "fe80:0000:0000:0000:0000:0000:0000:0001");
  EXPECT_EQ(gid_of_address("no address"), "");
}

}  // namespace
}  // namespace rdmove::agent::test
