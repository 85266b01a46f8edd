// What really leaves: caught on a TUN device in a network namespace of its own. One of hardware type 32
// stands for IPoIB: a packet socket's datagram passes it as it was given, so the ARP packet is seen byte for
// byte; what the driver would do with the 20-byte destination is not.
#include "guestagent/agent/packet_announcer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "guestagent/agent/announcement.hpp"
#include "guestagent/agent/netlink_socket.hpp"
#include "guestagent/agent/rtnetlink.hpp"
#include "guestagent/tests/dhcp_parts.hpp"

namespace rdmove::agent::test {
namespace {

class PacketAnnouncerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNET) != 0)
      GTEST_SKIP() << "no network namespace (run as root): " << std::strerror(errno);
    tun = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (tun < 0) GTEST_SKIP() << "no /dev/net/tun: " << std::strerror(errno);
    ifreq request{};
    std::strcpy(request.ifr_name, "ib0");
    request.ifr_flags = IFF_TUN;
    ASSERT_EQ(::ioctl(tun, TUNSETIFF, &request), 0) << std::strerror(errno);
    ASSERT_EQ(::ioctl(tun, TUNSETLINK, ARPHRD_INFINIBAND), 0) << std::strerror(errno);
    index = static_cast<int>(::if_nametoindex("ib0"));
  }
  void TearDown() override {
    if (tun >= 0) ::close(tun);
  }
  // Up, with an address, as a restore leaves it.
  void bring_up() {
    const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "ib0");
    request.ifr_flags = IFF_UP;
    ASSERT_EQ(::ioctl(any, SIOCSIFFLAGS, &request), 0) << std::strerror(errno);
    ::close(any);
  }
  // Behind TUN's own 4 bytes; `ether_type` is in them.
  std::vector<Bytes> caught(std::uint16_t ether_type) {
    std::vector<Bytes> out;
    std::array<std::uint8_t, 2048> bytes{};
    for (ssize_t size = 0; (size = ::read(tun, bytes.data(), bytes.size())) > 4;) {
      if ((bytes[2] << 8 | bytes[3]) == ether_type) out.emplace_back(bytes.begin() + 4, bytes.begin() + size);
    }
    return out;
  }

  int tun = -1;
  int index = 0;
};

TEST_F(PacketAnnouncerTest, arp_leaves_with_20_byte_addresses) {
  bring_up();
  RestoredLink link{
      index, "ib0",         *protocol::PortGuid::parse("00:02:c9:03:00:0a:1b:2c"),   {"10.0.0.5/24"},
      5,     ipoib_address, from_hex("00ffffff ff12401b ffff0000 00000000 ffffffff")};
  PacketAnnouncer().announce(link);
  const auto packets = caught(0x0806);
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0], gratuitous_arp(ArpOperation::Request, ipoib_address, {10, 0, 0, 5}));
  EXPECT_EQ(packets[1], gratuitous_arp(ArpOperation::Reply, ipoib_address, {10, 0, 0, 5}));
}

TEST_F(PacketAnnouncerTest, the_advertisement_leaves_with_the_long_option) {
  Rtnetlink network("/sys-that-is-not-there");
  CapturedLink wanted{index, "ib0", {}, 1500, true, {}, {}, {}, {}, {}};
  // fd00::5/64, permanent: ifaddrmsg, IFA_ADDRESS.
  wanted.addresses.push_back(
      {"fd00::5/64", from_hex("0a 40 80 00 00000000 1400 0100 fd000000000000000000000000000005")});
  const auto links = network.links();
  const auto self =
      std::find_if(links.begin(), links.end(), [&](const auto& each) { return each.index == index; });
  ASSERT_NE(self, links.end());
  auto up = network.bring_up(*self, wanted);
  ASSERT_TRUE(up.lost_addresses.empty()) << up.lost_addresses.front();
  caught(0);
  auto link = up.links.at(0);
  link.address = ipoib_address;
  link.addresses = {"fd00::5/64"};
  PacketAnnouncer().announce(link);
  bool seen = false;
  for (const auto& packet : caught(0x86dd)) {
    seen |=
        packet == neighbour_advertisement(ipoib_address, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5});
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace rdmove::agent::test
