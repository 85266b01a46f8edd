// The packets byte for byte; written by hand after RFC 826, 4861 and 4391.
#include "guestagent/agent/announcement.hpp"

#include <gmock/gmock.h>

#include "guestagent/tests/hex.hpp"

namespace rdmove::agent::test {
namespace {

const auto hardware = from_hex("52:54:00:00:00:01");
const auto ipoib = from_hex("80:00:02:08 fe:80:00:00:00:00:00:00 00:02:c9:03:00:0a:1b:2c");
constexpr std::array<std::uint8_t, 4> v4{10, 0, 0, 5};
constexpr std::array<std::uint8_t, 16> v6{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};

TEST(Announcement, arp_on_ethernet) {
  EXPECT_EQ(gratuitous_arp(ArpOperation::Request, hardware, v4),
            from_hex("0001 0800 06 04 0001 52:54:00:00:00:01 0a000005 00:00:00:00:00:00 0a000005"));
  EXPECT_EQ(gratuitous_arp(ArpOperation::Reply, hardware, v4),
            from_hex("0001 0800 06 04 0002 52:54:00:00:00:01 0a000005 52:54:00:00:00:01 0a000005"));
}

TEST(Announcement, arp_on_ipoib_has_hardware_type_32_and_the_whole_20_bytes) {
  const auto packet = gratuitous_arp(ArpOperation::Reply, ipoib, v4);
  EXPECT_EQ(packet, from_hex("0020 0800 14 04 0002"
                             "80000208 fe80000000000000 0002c903000a1b2c 0a000005"
                             "80000208 fe80000000000000 0002c903000a1b2c 0a000005"));
}

TEST(Announcement, neighbour_advertisement_has_the_option_in_the_links_own_length) {
  const std::string head = "fd000000000000000000000000000005 ff020000000000000000000000000001";
  const std::string target = "20000000 fd000000000000000000000000000005";
  EXPECT_EQ(neighbour_advertisement(hardware, v6),
            from_hex("60000000 0020 3a ff" + head + "88 00 0a3f" + target + "02 01 52:54:00:00:00:01"));
  EXPECT_EQ(neighbour_advertisement(ipoib, v6),
            from_hex("60000000 0030 3a ff" + head + "88 00 f7bc" + target +
                     "02 03 0000 80000208 fe80000000000000 0002c903000a1b2c"));
}

TEST(Announcement, all_nodes_on_a_link) {
  EXPECT_EQ(all_nodes(from_hex("ff:ff:ff:ff:ff:ff")), from_hex("33:33:00:00:00:01"));
  EXPECT_EQ(all_nodes(from_hex("00ffffff ff12401b 8001 0000 00000000 ffffffff")),
            from_hex("00ffffff ff12601b 8001 0000 00000000 00000001"));
}

}  // namespace
}  // namespace rdmove::agent::test
