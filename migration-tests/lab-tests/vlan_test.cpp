// RDMA over a VLAN that the guest has on its device: the VLAN leaves with the device and comes back with it, and
// with the priorities that put its packets into the lossless class.
#include "ping.hpp"

namespace rdmove::lab {
namespace {

constexpr const char* kPeer = "10.79.0.100";

class Vlan : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    addVlan("vm1", "52:54:00:77:00:01", "10.79.0.1");
    addVlan("peer", "52:54:00:77:00:64", kPeer);
    guest("vm1", "ip link set storage mtu 1400; ip -6 addr add fd79::1/64 dev storage nodad;"
                 "ip route add 10.98.0.0/16 via 10.79.0.100 dev storage metric 50;"
                 "ip neigh add 10.79.0.9 lladdr 02:00:00:00:00:09 dev storage nud permanent");
  }
  void TearDown() override {
    for (const char* vm : {"vm1", "peer"}) guest(vm, "ip link del storage");
    Lab::TearDown();
  }

  /// `storage`: VLAN 77 on the device with this MAC, with priority 3 for all that leaves.
  static void addVlan(const std::string& vm, const std::string& mac, const std::string& address) {
    const Outcome made = guest(
        vm, "dev=$(grep -l " + mac + " /sys/class/net/*/address | head -n 1); dev=$(basename ${dev%/address});"
            "ip link add link $dev name storage type vlan id 77 ingress 3:4 egress 0:3 6:5 &&"
            "ip link set storage up && ip addr add " + address + "/24 dev storage");
    ASSERT_EQ(made.status, 0) << made.output;
  }

  static nlohmann::json storage() {
    const Outcome shown = guest("vm1", "ip -d -j addr show dev storage");
    const auto all = nlohmann::json::parse(shown.output, nullptr, false);
    return all.is_array() && !all.empty() ? all.at(0) : nlohmann::json::object();
  }
  static std::vector<std::string> addresses(const nlohmann::json& device) {
    std::vector<std::string> out;
    for (const auto& one : device.value("addr_info", nlohmann::json::array()))
      if (one.value("scope", "") == "global") out.push_back(one.value("local", ""));
    return out;
  }
};

TEST_F(Vlan, a_vlan_comes_back_with_its_priorities_and_the_connections_over_it) {
  Ping server("peer", "ping-server", "--server --port 7472");
  Ping client("vm1", "ping-vlan", std::string(kPeer) + " --port 7472 --connections 4 --rate 10 --size 256");
  expectFlows(client, 4);
  const auto before = storage();
  ASSERT_EQ(before.at("linkinfo").at("info_data").value("id", 0), 77) << before.dump();

  for (const auto& [from, to] : {std::pair{"hosta", "hostb"}, std::pair{"hostb", "hosta"}}) {
    SCOPED_TRACE(to);
    const Outcome moved = rdmove(from, {"migrate", "vm1", to});
    ASSERT_EQ(moved.status, 0) << moved.output;
    const auto after = storage();
    ASSERT_TRUE(after.contains("ifindex")) << guest("vm1", "ip addr; tail /var/log/rdmove-agent.log").output;
    EXPECT_NE(after.at("ifindex"), before.at("ifindex")) << "it never left: nothing was tried";
    EXPECT_EQ(after.at("linkinfo"), before.at("linkinfo"));
    EXPECT_EQ(after.at("mtu"), 1400);
    EXPECT_EQ(addresses(after), addresses(before)) << after.dump();
    EXPECT_EQ(guest("vm1", "ip route show 10.98.0.0/16").output,
              "10.98.0.0/16 via 10.79.0.100 dev storage metric 50 \n");
    EXPECT_NE(guest("vm1", "ip neigh show dev storage").output.find("10.79.0.9 lladdr 02:00:00:00:00:09 PERMANENT"),
              std::string::npos);
    expectFlows(client, 4);
  }
  EXPECT_GE(client.number("blackouts"), 8U);
  expectClean(client);
  expectCleanServer(server);
}

}  // namespace
}  // namespace rdmove::lab
