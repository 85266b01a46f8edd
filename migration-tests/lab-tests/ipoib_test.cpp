// IPoIB end to end, on a device that the guests' kernel takes for one (migration-tests/guest/modules/labib):
// 20-byte addresses whose queue pair number changes with each arrival, as a real one's does. Its NIC moves
// with the VM.
#include "lab.hpp"

namespace rdmove::lab {
namespace {

constexpr const char* kGuid = "00:02:c9:03:00:77:00:01";
constexpr const char* kPeerGuid = "00:02:c9:03:00:77:00:64";
constexpr const char* kNamespace = "urn:rdmove:domain:1";

class Ipoib : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    declared_ = virsh("hosta", {"metadata", "vm1", kNamespace}).output;
    declare(
        "hosta",
        std::string("<rdma><vf alias='ua-rdma0' pool='fabric' model='virtual-switch'><identity port-guid='") +
            kGuid + "'/></vf></rdma>");
    bringUp("vm1", "52:54:00:77:00:01", kGuid);
    bringUp("peer", "52:54:00:77:00:64", kPeerGuid);
    guest("peer", "ip addr add 10.78.0.100/24 dev ib0; ip addr add fd78::100/64 dev ib0 nodad");
    startServer();
    guest("vm1",
          "ip link set ib0 mtu 1400; ip addr add 10.78.0.1/24 dev ib0; ip addr add fd78::1/64 dev ib0 nodad;"
          "ip addr add 10.78.0.5/24 dev ib0 valid_lft 500 preferred_lft 500;"
          "ip route add 10.99.0.0/16 via 10.78.0.100 dev ib0");
  }

  /// The partition's interface, and what `ip` says of it as IPoIB's.
  static void addPartition(const std::string& vm, const std::string& address) {
    const Outcome added = guest(vm, "ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 mode datagram umcast 0 && "
                                    "ip link set ib0.8001 up && ip addr add " + address + "/24 dev ib0.8001");
    ASSERT_EQ(added.status, 0) << added.output;
  }
  static std::string ipoib(const std::string& netdev) {
    return guest("vm1", "ip -d link show " + netdev + " | grep -o 'ipoib pkey.*umcast [0-9]*'").output;
  }

  void TearDown() override {
    for (const char* vm : {"vm1", "peer"})
      guest(vm, "kill -- -$(cat /run/lab-ipoib.pid) $(pidof dnsmasq) $(pidof ping); ip link del ib0");
    const std::string host = state("hosta", "vm1") == "running" ? "hosta" : "hostb";
    declare(host, declared_);
    Lab::TearDown();
  }

  static void declare(const std::string& host, const std::string& metadata) {
    const Outcome set = virsh(
        host, {"metadata", "vm1", kNamespace, "--live", "--config", "--key", "rdma", "--set", metadata});
    ASSERT_EQ(set.status, 0) << set.output;
  }

  static void bringUp(const std::string& vm, const std::string& mac, const std::string& guid) {
    guest(vm, "setsid lab-ipoib " + mac + " " + guid +
                  " >/tmp/lab-ipoib.log 2>&1 </dev/null & echo $! >/run/lab-ipoib.pid");
    ASSERT_TRUE(within(seconds(10), [&] { return guest(vm, "ip link set ib0 up").status == 0; }))
        << guest(vm, "cat /tmp/lab-ipoib.log").output;
  }

  // It knows the client by the identifier of RFC 4390, as Linux writes it, and by nothing else; being the
  // only one (authoritative), it answers for a lease that it has never seen.
  static void startServer() {
    ASSERT_EQ(lab({"install", "peer", "dnsmasq"}).status, 0);
    guest(
        "peer",
        "echo root:x:0:0:::/bin/sh >/etc/passwd; echo root:x:0: >/etc/group; rm -f /tmp/leases;"
        "dnsmasq --user=root --group=root --no-daemon --conf-file=/dev/null --port=0 --interface=ib0 "
        "--bind-interfaces"
        " --dhcp-range=10.78.0.50,10.78.0.60,1h --dhcp-authoritative --dhcp-leasefile=/tmp/leases --log-dhcp"
        " --dhcp-host=id:ff:00:00:00:00:00:02:00:00:02:c9:00:00:02:c9:03:00:77:00:01,10.78.0.5,1h"
        " >/tmp/dnsmasq.log 2>&1 </dev/null &");
    ASSERT_TRUE(within(seconds(10), [] {
      return guest("peer", "grep -q 'exclusively to interface ib0' /tmp/dnsmasq.log").status == 0;
    })) << guest("peer", "cat /tmp/dnsmasq.log").output;
  }

  static nlohmann::json device(const std::string& vm) {
    return nlohmann::json::parse(guest(vm, "ip -j addr show dev ib0").output).at(0);
  }
  static nlohmann::json addressOf(const nlohmann::json& device, const std::string& address) {
    for (const auto& one : device.at("addr_info"))
      if (one.value("local", "") == address) return one;
    return nlohmann::json::object();
  }
  /// What the peer sends to.
  static std::string neighbour() {
    const auto all = nlohmann::json::parse(guest("peer", "ip -j neigh show 10.78.0.1 dev ib0").output);
    return all.empty() ? "" : all.at(0).value("lladdr", "");
  }
  static int replies() {
    return std::atoi(guest("peer", "grep -c 'bytes from' /tmp/ping.log").output.c_str());
  }

  std::string declared_;
};

TEST_F(Ipoib, comes_back_by_its_guid_with_all_that_was_on_it_and_the_peer_is_told) {
  guest("peer", "ping -i 0.2 10.78.0.1 >/tmp/ping.log 2>&1 </dev/null &");
  ASSERT_TRUE(within(seconds(10), [] { return replies() > 5; })) << guest("peer", "cat /tmp/ping.log").output;
  const std::string before = device("vm1").at("address");
  ASSERT_EQ(neighbour(), before);

  const Outcome moved = rdmove("hosta", {"migrate", "vm1", "hostb"});
  ASSERT_EQ(moved.status, 0) << moved.output;

  const auto after = device("vm1");
  EXPECT_EQ(after.at("address").get<std::string>().substr(36), kGuid);
  EXPECT_NE(after.at("address"), before) << "the same queue pair number: nothing was tried";
  EXPECT_EQ(after.at("mtu"), 1400);
  EXPECT_EQ(after.at("operstate"), "UNKNOWN") << "labib's word for up";
  EXPECT_EQ(addressOf(after, "10.78.0.1").value("prefixlen", 0), 24) << after.dump();
  EXPECT_EQ(addressOf(after, "fd78::1").value("prefixlen", 0), 64) << after.dump();
  EXPECT_EQ(guest("vm1", "ip route show 10.99.0.0/16").output, "10.99.0.0/16 via 10.78.0.100 dev ib0 \n");

  // A peer that sends all the time asks nobody where its neighbour is: without the announcement it goes on to
  // send to the old queue pair number.
  EXPECT_TRUE(within(seconds(3), [&] { return neighbour() == after.at("address"); })) << neighbour();
  const int so_far = replies();
  EXPECT_TRUE(within(seconds(5), [&] { return replies() > so_far + 5; }))
      << guest("peer", "tail /tmp/ping.log").output;

  // The server gives what the identifier of the port GUID has: an hour, where 500 seconds were.
  EXPECT_TRUE(within(
      seconds(15), [] { return addressOf(device("vm1"), "10.78.0.5").value("valid_life_time", 0U) > 3000; }))
      << guest("vm1", "ip addr show ib0; tail /var/log/rdmove-agent.log").output
      << guest("peer", "cat /tmp/dnsmasq.log").output;
  EXPECT_NE(guest("peer", "cat /tmp/dnsmasq.log").output.find("DHCPACK(ib0) 10.78.0.5"), std::string::npos);
}

TEST_F(Ipoib, mode_umcast_and_the_interfaces_of_other_partitions_come_back) {
  addPartition("peer", "10.79.0.100");
  addPartition("vm1", "10.79.0.1");
  guest("vm1", "ip link set ib0 type ipoib mode connected; ip link set ib0.8001 type ipoib mode connected umcast 1;"
               "ip route add 10.98.0.0/16 via 10.79.0.100 dev ib0.8001");
  ASSERT_EQ(ipoib("ib0"), "ipoib pkey 0xffff mode connected umcast 0000\n");
  ASSERT_EQ(ipoib("ib0.8001"), "ipoib pkey 0x8001 mode connected umcast 0001\n");
  ASSERT_EQ(guest("vm1", "ping -c 1 -W 5 10.79.0.100").status, 0);

  const Outcome moved = rdmove("hosta", {"migrate", "vm1", "hostb"});
  ASSERT_EQ(moved.status, 0) << moved.output;

  EXPECT_EQ(ipoib("ib0"), "ipoib pkey 0xffff mode connected umcast 0000\n");
  EXPECT_EQ(ipoib("ib0.8001"), "ipoib pkey 0x8001 mode connected umcast 0001\n");
  EXPECT_EQ(guest("vm1", "ip route show 10.98.0.0/16").output, "10.98.0.0/16 via 10.79.0.100 dev ib0.8001 \n");
  // The peer's neighbour entry is right again without its having asked: the child was announced as well.
  EXPECT_EQ(guest("peer", "ping -c 1 -W 5 10.79.0.1").status, 0)
      << guest("peer", "ip neigh show dev ib0.8001").output << guest("vm1", "ip addr").output;
}

}  // namespace
}  // namespace rdmove::lab
