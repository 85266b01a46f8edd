#include "guestagent/agent/capture.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

Capture example() {
  CapturedLink vlan{7, "eth0.5", mac, 1400, true, {{"10.5.0.1/24", {9, 8}}}, {}, {}, VlanTag{5, 0x88a8, 1},
                    {}};
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
