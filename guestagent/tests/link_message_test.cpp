// Links as messages. The Ethernet one was recorded from a 6.18 kernel (a veth, without statistics and
// IFLA_AF_SPEC); there is no IPoIB in the kernels that these tests run on, so its messages were put together
// by hand, attribute by attribute, as ipoib_fill_info() and rtnl_fill_ifinfo() write them.
#include "guestagent/agent/link_message.hpp"

#include <gmock/gmock.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>

#include <cstring>

#include "guestagent/tests/fakes.hpp"
#include "guestagent/tests/hex.hpp"

namespace rdmove::agent::test {
namespace {

using testing::ElementsAre;

constexpr const char* veth =
    "900100001000020001000000bc71000000000100030000004310010000000000090003006e6963300000000008000d00e803"
    "00000500100006000000050011000000000005004300000000000800040028230000080032004400000008003300ffff0000"
    "08001b000000000008001e000000000008003d000000000008001f000200000008002800ffff000008002900000001000800"
    "3a000000010008003f0000000100080040000000010008003b00f8ff070008003c00ffff0000080042000000000008002000"
    "020000000500210001000000080023000200000008002f000100000008003000010000000600440000000000060045000000"
    "000005002700000000000a00010052540000000100000a000200ffffffffffff000010001200090001007665746800000000"
    "08000500020000000c0006006e6f71756575650024000e000000000000000000000000000000000000000000000000000000"
    "000000000000240034801000350072646d6f76652d616c7430000e003500656e703773306e703000000004003e8004004180";
constexpr const char* ib0 =
    "8c00000010000200010000000000000000002000050000004310010000000000080003006962300008000400f0ff00001800"
    "010080000208fe800000000000000002c903000a1b2c1800020000ffffffff12401bffff00000000ffffffff00002c001200"
    "0a00010069706f69620000001c00020006000100ffff000006000200010000000600030000000000";
constexpr const char* ib0_8001 =
    "9c000000100002000100000000000000000020000900000043100100000000000d0003006962302e38303031000000000800"
    "0400fc07000008000500050000001800010080000208fe800000000000000002c903000a1b2c1800020000ffffffff12401b"
    "800100000000ffffffff00002c0012000a00010069706f69620000001c000200060001000180000006000200000000000600"
    "030001000000";

const DeviceIdentity guid = *protocol::PortGuid::parse("00:02:c9:03:00:0a:1b:2c");

std::optional<LinkInfo> parsed(const Bytes& bytes) {
  alignas(nlmsghdr) std::uint8_t aligned[2048] = {};
  std::memcpy(aligned, bytes.data(), bytes.size());
  return link_message::parse(*reinterpret_cast<const nlmsghdr*>(aligned));
}

TEST(LinkMessage, ethernet_as_recorded) {
  const auto link = parsed(from_hex(veth));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->index, 3);
  EXPECT_EQ(link->name, "nic0");
  EXPECT_EQ(link->identity, DeviceIdentity(mac));
  EXPECT_EQ(link->mtu, 9000U);
  EXPECT_TRUE(link->up);
  EXPECT_TRUE(link->carrier);
  EXPECT_EQ(link->kind, "veth");
  EXPECT_EQ(link->parent, 2);
  EXPECT_EQ(link->broadcast, from_hex("ff:ff:ff:ff:ff:ff"));
  EXPECT_THAT(link->altnames, ElementsAre("rdmove-alt0", "enp7s0np0"));
  EXPECT_FALSE(link->ipoib);
}

TEST(LinkMessage, ipoib_is_known_by_the_end_of_its_address) {
  const auto link = parsed(from_hex(ib0));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->identity, guid);
  EXPECT_EQ(link->address.size(), 20U);
  EXPECT_EQ(link->broadcast.size(), 20U);
  EXPECT_EQ(link->parent, 0);
  EXPECT_EQ(link->ipoib, (IpoibSettings{0xffff, 1, 0}));
  EXPECT_EQ(link->mtu, 65520U);
}

TEST(LinkMessage, a_pkey_child_has_the_same_guid_and_a_parent) {
  const auto link = parsed(from_hex(ib0_8001));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->identity, guid);
  EXPECT_EQ(link->parent, 5);
  EXPECT_EQ(link->ipoib, (IpoibSettings{0x8001, 0, 1}));
}

TEST(LinkMessage, cut_anywhere_is_no_crash) {
  for (const auto& whole : {from_hex(veth), from_hex(ib0)}) {
    for (std::size_t size = sizeof(nlmsghdr); size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<long>(size));
      const auto length = static_cast<std::uint32_t>(size);
      std::memcpy(cut.data(), &length, sizeof length);
      parsed(cut);
    }
  }
  auto removal = from_hex(ib0);
  removal[4] = RTM_DELLINK;
  EXPECT_FALSE(parsed(removal));
}

Bytes bytes_of(nl_msg* message) {
  const auto* header = nlmsg_hdr(message);
  const auto* begin = static_cast<const std::uint8_t*>(nlmsg_data(header));
  Bytes out(begin, begin + nlmsg_datalen(header));
  nlmsg_free(message);
  return out;
}

// Little-endian, as the machines that this runs on; nested attributes with their flag (0x8000).
TEST(LinkMessage, makes_a_pkey_child) {
  EXPECT_EQ(bytes_of(link_message::new_ipoib_child(5, "ib0.8001", 0x8001)),
            from_hex("00000000 00000000 00000000 00000000"
                     "0d00 0300 6962302e3830303100 000000"
                     "0800 0500 05000000"
                     "1c00 1280 0a00 0100 69706f696200 0000 0c00 0280 0600 0100 0180 0000"));
}

// Each entry numbered IFLA_VLAN_QOS_MAPPING (1): kernels since 6.8 leave out what has another number.
TEST(LinkMessage, sets_a_vlans_priorities) {
  EXPECT_EQ(bytes_of(link_message::vlan_priorities(5, {5, 0x8100, 0, {{3, 4}}, {{0, 3}, {6, 5}}})),
            from_hex("00000000 05000000 00000000 00000000"
                     "4000 1280 0900 0100 766c616e00 000000 3000 0280"
                     "1000 0480 0c00 0100 03000000 04000000"
                     "1c00 0380 0c00 0100 00000000 03000000 0c00 0100 06000000 05000000"));
}

TEST(LinkMessage, sets_mode_and_umcast) {
  EXPECT_EQ(
      bytes_of(link_message::ipoib_settings(5, {0xffff, 1, 1})),
      from_hex("00000000 05000000 00000000 00000000"
               "2400 1280 0a00 0100 69706f696200 0000 1400 0280 0600 0200 0100 0000 0600 0300 0100 0000"));
}

}  // namespace
}  // namespace rdmove::agent::test
