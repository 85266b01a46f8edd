#include "guestagent/agent/dhcp/origin.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "guestagent/tests/dhcp_parts.hpp"
#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

using namespace dhcp;
using testing::ElementsAre;
using testing::IsEmpty;

// As isc-dhcp-client 4.4 writes it.
constexpr const char* dhclient_file = R"(default-duid "\000\001\000\001";
lease {
  interface "eth0";
  fixed-address 10.0.0.5;
  option subnet-mask 255.255.255.0;
  option dhcp-client-identifier 1:52:54:0:0:0:1;
  option dhcp-server-identifier 10.0.0.1;
  renew 1 2026/11/30 10:00:00;
}
lease {
  interface "eth0";
  fixed-address 10.0.0.5;
  option dhcp-client-identifier "vm1";
}
lease {
  interface "eth1";
  fixed-address 10.0.0.6;
}
)";

class DhcpOriginTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = folder.path / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  std::vector<Lease> leases() { return leases_on(link, folder.path, folder.path / "proc"); }

  TemporaryFolder folder;
  CapturedLink link{2,  "eth0", mac, 1500, true, {{"10.0.0.5/24", {}, true}, {"fd00::5/64", {}, true}},
                    {}, {},     {},  {}};
};

TEST_F(DhcpOriginTest, a_permanent_address_that_no_client_knows_is_not_leased) {
  link.addresses[0].expires = false;
  EXPECT_THAT(leases(), IsEmpty());
}

TEST_F(DhcpOriginTest, an_address_that_expires_is_leased_by_somebody) {
  EXPECT_THAT(leases(), ElementsAre(Lease{"eth0", 2, "10.0.0.5/24", "unknown", {}, Identity::Assumed}));
}

TEST_F(DhcpOriginTest, dhclients_last_lease_counts) {
  write("var/lib/dhcp/dhclient.eth0.leases", dhclient_file);
  EXPECT_THAT(leases(),
              ElementsAre(Lease{"eth0", 2, "10.0.0.5/24", "dhclient", from_hex("766d31"), Identity::Known}));
  EXPECT_EQ(dhclient_identifier(dhclient_file, "eth1", "10.0.0.6"), Bytes{});
  EXPECT_FALSE(dhclient_identifier(dhclient_file, "eth1", "10.0.0.5"));
  EXPECT_FALSE(dhclient_identifier("lease {", "eth1", "10.0.0.5"));
}

TEST_F(DhcpOriginTest, dhcpcds_lease_file_is_the_servers_answer) {
  const Query query{Type::Request, 1, 0, {}, {}};
  const auto stored = [&](const Bytes& more) {
    const auto bytes = answer(to_bytes({ethernet_address, {}}, query), 5, "10.0.0.5", server_option + more);
    return std::string(bytes.begin(), bytes.end());
  };
  write("var/lib/dhcpcd/eth0.lease", stored(from_hex("3d 03 ff0102")));
  EXPECT_THAT(leases(),
              ElementsAre(Lease{"eth0", 2, "10.0.0.5/24", "dhcpcd", from_hex("ff0102"), Identity::Known}));
  write("var/lib/dhcpcd/eth0.lease", stored({}));
  EXPECT_THAT(leases(), ElementsAre(Lease{"eth0", 2, "10.0.0.5/24", "dhcpcd", {}, Identity::Assumed}));
}

TEST_F(DhcpOriginTest, udhcpc_is_known_by_its_process) {
  write("proc/17/cmdline", std::string("busybox\0udhcpc\0-i\0eth0\0", 23));
  link.addresses[0].expires = false;  // its script sets no lifetime
  EXPECT_THAT(leases(), ElementsAre(Lease{"eth0", 2, "10.0.0.5/24", "udhcpc", from_hex("01 525400000001"),
                                          Identity::Known}));
  link.addresses.push_back({"10.0.0.7/24", {}});
  EXPECT_THAT(leases(), IsEmpty()) << "with two it cannot be told which is its own";
}

TEST_F(DhcpOriginTest, udhcpcs_command_line_says_the_identifier) {
  const auto id = [](const std::vector<std::string>& arguments) {
    return udhcpc_identifier(arguments, "eth1", ethernet_address);
  };
  EXPECT_EQ(id({"/sbin/udhcpc", "-n", "-ieth1", "-C"}), Bytes{});
  EXPECT_EQ(id({"udhcpc", "-i", "eth1", "-x", "0x3d:0a0b"}), from_hex("0a0b"));
  EXPECT_EQ(id({"udhcpc", "-i", "eth1", "-x", "0x3d:0a0bzz"}), Bytes{});
  EXPECT_FALSE(id({"udhcpc"})) << "that serves eth0";
  EXPECT_FALSE(id({"vi", "udhcpc", "-i", "eth1"}));
  EXPECT_FALSE(id({}));
}

TEST_F(DhcpOriginTest, infiniband_has_the_identifier_of_its_port_guid) {
  link.identity = *protocol::PortGuid::parse("00:02:c9:03:00:0a:1b:2c");
  EXPECT_THAT(leases(), ElementsAre(Lease{"eth0", 2, "10.0.0.5/24", "unknown",
                                          from_hex("ff 00000000 0002 000002c9 00 0002c903000a1b2c"),
                                          Identity::Assumed}));
}

TEST_F(DhcpOriginTest, children_count_too) {
  CapturedLink parent = link;
  parent.addresses.clear();
  link.netdev = "eth0.5";
  link.index = 9;
  parent.children = {link};
  const auto found = leases_on(parent, folder.path, folder.path);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].captured_index, 9);
}

}  // namespace
}  // namespace rdmove::agent::test
