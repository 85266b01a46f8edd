// A lease that is asked for again: with busybox's real DHCP server over a veth pair, and on a TUN device of
// hardware type 32 that stands for IPoIB, where the test itself is the server (no other client or server in
// Debian can be tried on a device without 20-byte addresses).
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/if_tun.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "guestagent/agent/asio_timers.hpp"
#include "guestagent/agent/dhcp/address_table.hpp"
#include "guestagent/agent/dhcp/confirmations.hpp"
#include "guestagent/agent/dhcp/udp.hpp"
#include "guestagent/tests/dhcp_parts.hpp"
#include "guestagent/tests/rtnetlink_fixture.hpp"

namespace rdmove::agent::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DhcpServerTest : public RtnetlinkTest {
 protected:
  void SetUp() override {
    RtnetlinkTest::SetUp();
    if (IsSkipped()) return;
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "no /bin/busybox for its udhcpd";
    table.emplace();  // its socket belongs into the namespace
    confirmations.emplace(io, timers, *table, folder.path, folder.path / "proc");
  }
  void TearDown() override {
    if (server <= 0) return;
    ::kill(server, SIGTERM);
    ::waitpid(server, nullptr, 0);
  }
  void serve(const std::string& address) {
    add_address(index_of("far"), "10.9.0.1/24");
    const auto config = folder.path / "udhcpd.conf";
    std::ofstream(config) << "start 10.9.0.100\nend 10.9.0.110\ninterface far\npidfile "
                          << (folder.path / "pid").string() << "\nlease_file "
                          << (folder.path / "leases").string() << "\nstatic_lease " << mac.text() << " "
                          << address
                          << "\noption subnet 255.255.255.0\noption router 10.9.0.1\noption lease 3600\n";
    server = ::fork();
    if (server == 0) {
      ::execl("/bin/busybox", "busybox", "udhcpd", "-f", "-I", "10.9.0.1", config.c_str(), nullptr);
      ::_exit(127);
    }
  }
  // The device with the leased address 10.9.0.5 leaves, and is back with it.
  void move_the_device() {
    configure("nic0", [](rtnl_link*) {});
    add_address(index_of("nic0"), "10.9.0.5/24", nullptr, 100);
    add_route(index_of("nic0"), "0.0.0.0/0", "10.9.0.254", 254, 0);
    std::filesystem::create_directories(folder.path / "var/lib/dhcp");
    std::ofstream(folder.path / "var/lib/dhcp/dhclient.leases")
        << "lease {\n  interface \"nic0\";\n  fixed-address 10.9.0.5;\n}\n";
    captured = *network->capture(*network->find(mac, DeviceKind::SoftRoce));
    leases = confirmations->find(captured);
    delete_link("nic0");
    ASSERT_TRUE(make_link("nic0", 1500));
    up = network->bring_up(*network->find(mac, DeviceKind::SoftRoce), captured);
    network->put_routes(up.links, captured);
  }
  void confirm() {
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases[0].client, "dhclient");
    confirmations->confirm(up.links.at(0), leases[0],
                           [this](const std::string& text) { warnings.push_back(text); });
  }
  // Until it is so, or for ten seconds.
  void run_until(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!so() && std::chrono::steady_clock::now() < end) io.run_one_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(so());
  }
  unsigned lifetime_of(const std::string& text) {
    nl_cache* cache = nullptr;
    EXPECT_EQ(rtnl_addr_alloc_cache(socket.get(), &cache), 0);
    unsigned out = 0;
    for (auto* object = nl_cache_get_first(cache); object != nullptr; object = nl_cache_get_next(object)) {
      auto* address = reinterpret_cast<rtnl_addr*>(object);
      char bytes[64] = {};
      if (text == nl_addr2str(rtnl_addr_get_local(address), bytes, sizeof bytes)) {
        out = rtnl_addr_get_valid_lifetime(address);
      }
    }
    nl_cache_free(cache);
    return out;
  }

  TemporaryFolder folder;
  boost::asio::io_context io{1};
  AsioTimers timers{io};
  std::optional<dhcp::AddressTable> table;
  std::optional<dhcp::Confirmations> confirmations;
  CapturedLink captured;
  std::vector<dhcp::Lease> leases;
  NetworkState::BroughtUp up;
  std::vector<std::string> warnings;
  pid_t server = -1;
};

TEST_F(DhcpServerTest, a_confirmed_lease_has_its_new_lifetime) {
  move_the_device();
  serve("10.9.0.5");
  EXPECT_LE(lifetime_of("10.9.0.5/24"), 100U);
  confirm();
  run_until([&] { return lifetime_of("10.9.0.5/24") > 3000; });
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(DhcpServerTest, a_refused_address_is_replaced_with_a_warning_and_the_default_route_follows) {
  move_the_device();
  serve("10.9.0.50");
  confirm();
  run_until([&] { return !warnings.empty(); });
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("refused 10.9.0.5/24 and gave 10.9.0.50")));
  EXPECT_GT(lifetime_of("10.9.0.50/24"), 3000U);
  EXPECT_EQ(lifetime_of("10.9.0.5/24"), 0U);
  EXPECT_THAT(texts(network->capture(*network->find(mac, DeviceKind::SoftRoce))->routes),
              ElementsAre("default via 10.9.0.1 table 254"));
}

TEST_F(DhcpServerTest, a_new_capture_ends_the_conversation) {
  move_the_device();
  confirm();
  confirmations->find(*network->capture(*network->find(mac, DeviceKind::SoftRoce)));
  io.run();  // returns: nothing is waited for any more
  EXPECT_THAT(warnings, IsEmpty());
}

class DhcpOnInfinibandTest : public DhcpServerTest {
 protected:
  void SetUp() override {
    DhcpServerTest::SetUp();
    if (IsSkipped()) return;
    tun = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (tun < 0) GTEST_SKIP() << "no /dev/net/tun: " << std::strerror(errno);
    ifreq request{};
    std::strcpy(request.ifr_name, "ib0");
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    ASSERT_EQ(::ioctl(tun, TUNSETIFF, &request), 0) << std::strerror(errno);
    ASSERT_EQ(::ioctl(tun, TUNSETLINK, ARPHRD_INFINIBAND), 0) << std::strerror(errno);
    configure("ib0", [](rtnl_link*) {});
  }
  void TearDown() override {
    if (tun >= 0) ::close(tun);
    DhcpServerTest::TearDown();
  }
  int tun = -1;
};

TEST_F(DhcpOnInfinibandTest, asks_by_the_port_guid_and_takes_the_answer) {
  const int index = index_of("ib0");
  add_address(index, "10.8.0.5/24", nullptr, 100);
  const auto guid = *protocol::PortGuid::parse("00:02:c9:03:00:0a:1b:2c");
  const auto identifier = dhcp::infiniband_identifier(guid);
  const RestoredLink link{index, "ib0", guid, {"10.8.0.5/24"}, 5, ipoib_address, {}};
  confirmations->confirm(link, {"ib0", 5, "10.8.0.5/24", "unknown", identifier, dhcp::Identity::Assumed},
                         [this](const std::string& text) { warnings.push_back(text); });
  Bytes question;
  std::array<std::uint8_t, 2048> bytes{};
  for (ssize_t size = 0; (size = ::read(tun, bytes.data(), bytes.size())) > 0;) {
    if (size > 28 && bytes[9] == 17 && bytes[23] == 67)
      question.assign(bytes.begin() + 28, bytes.begin() + size);
  }
  ASSERT_GT(question.size(), 240U);
  EXPECT_EQ(question[1], 32) << "hardware type";
  EXPECT_EQ(question[2], 0);
  EXPECT_EQ(question[10], 0x80) << "broadcast";
  EXPECT_EQ(Bytes(question.begin() + 28, question.begin() + 44), Bytes(16, 0)) << "chaddr";
  EXPECT_EQ(option(question, 61), identifier);

  auto reply = dhcp::to_packet(answer(question, 5, "10.8.0.5", server_option + lease_option));
  std::swap(reply[21], reply[23]);  // from port 67 to 68; the sum of both is the same
  ASSERT_EQ(::write(tun, reply.data(), reply.size()), static_cast<ssize_t>(reply.size()))
      << std::strerror(errno);
  run_until([&] { return lifetime_of("10.8.0.5/24") > 3000; });
  EXPECT_THAT(warnings, IsEmpty());
}

}  // namespace
}  // namespace rdmove::agent::test
