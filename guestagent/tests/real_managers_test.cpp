// NetworkManager, systemd-networkd and ifupdown themselves: each configures an interface, the agent prepares the guest,
// the interface goes and comes back, and the agent waits for the manager rather than doing its work. RDMA is in memory.
#include <boost/asio/executor_work_guard.hpp>

#include "guestagent/agent/address_monitor.hpp"
#include "guestagent/agent/asio_timers.hpp"
#include "guestagent/agent/link_monitor.hpp"
#include "guestagent/agent/moves.hpp"
#include "guestagent/tests/fake_addressing.hpp"
#include "guestagent/tests/machine_fixture.hpp"

namespace rdmove::agent::test {
namespace {

using namespace std::chrono_literals;

/// The agent's part on this machine. Made when the machine is.
struct Agent {
  explicit Agent(Rtnetlink& on) : network(on) { rdma.devices = {{"rxe0", "nic0"}}; }

  Rtnetlink& network;
  TemporaryFolder folder;
  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep{io.get_executor()};
  AsioTimers timers{io};
  FakeNetwork gids;  // the RDMA device's
  FakeRdma rdma{gids};
  FakeProcesses processes;
  FakeApplications applications;
  FakeAnnouncer announcer;
  CaptureStore store{folder.path, "boot"};
  ManagerFiles managers{"/"};
  AddressMonitor address_events{io};
  FakeLeases leases;
  FakeRdmaSettings rdma_settings;
  FakeGidEvents gid_events;
  Services services{network, rdma,     processes,      applications, announcer,     timers,
                    store,   managers, address_events, leases,       rdma_settings, gid_events};
  Moves moves{services, [](const protocol::Ready&) {}};
  LinkMonitor links{io, network, {[this] { moves.links_changed(); }, [](const LinkInfo&) {}, [](const LinkInfo&) {}}};
};

class RealManagers : public MachineTest {
 protected:
  void SetUp() override {
    MachineTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) agent = std::make_unique<Agent>(*network);
  }

  /// Looks again every 20 ms: a manager writes its state file after the address, and no event tells.
  template <class Condition>
  bool comes_true(Condition holds) {
    for (const auto until = std::chrono::steady_clock::now() + 20s; !holds();) {
      if (std::chrono::steady_clock::now() > until) return false;
      agent->io.run_for(20ms);
    }
    return true;
  }
  std::optional<LinkInfo> nic0() { return network->find(mac, DeviceKind::SoftRoce); }
  bool has_address() {
    const auto all = network->addresses(nic0()->index);
    return std::find(all.begin(), all.end(), "10.9.0.5/24") != all.end();
  }
  std::vector<std::string> routes() {
    const auto link = nic0();
    return link ? texts(network->capture(*link)->routes) : std::vector<std::string>{};
  }

  /// `replug` is what happens on a machine when the interface goes and comes.
  void is_waited_for(const std::string& manager, const std::function<void()>& replug) {
    ASSERT_TRUE(comes_true([&] { return nic0() && agent->managers.manager_of(*nic0()) == manager; }));
    ASSERT_TRUE(comes_true([&] { return has_address() && !routes().empty(); }));
    const auto before = routes();

    std::optional<Result<protocol::PrepareResult>> prepared;
    agent->moves.prepare({migration, 2000ms, false, {soft}}, [&](const auto& answer) { prepared = answer; });
    agent->rdma.finish_removal("rxe0");
    ASSERT_TRUE(comes_true([&] { return prepared.has_value(); }));
    ASSERT_TRUE(*prepared) << prepared->error().message;

    replug();
    std::optional<Result<protocol::RestoreResult>> restored;
    agent->moves.restore({migration, 20'000ms, {soft}}, [&](const auto& answer) { restored = answer; });
    ASSERT_TRUE(comes_true([&] { return restored.has_value(); }));
    ASSERT_TRUE(*restored) << restored->error().message;
    const auto& device = (*restored)->devices.at(0);
    EXPECT_EQ(device.managed_by, manager);
    EXPECT_THAT(device.addresses, testing::Contains("10.9.0.5/24"));
    EXPECT_THAT((*restored)->warnings, testing::IsEmpty());
    EXPECT_EQ(routes(), before);
  }
  void replug_link() {
    delete_link("nic0");
    ASSERT_TRUE(make_link("nic0", 1400));
  }

  const protocol::MigrationId migration = *protocol::MigrationId::parse("m1");
  std::unique_ptr<Agent> agent;
};

TEST_F(RealManagers, systemd_networkd) {
  const char* const networkd = "/lib/systemd/systemd-networkd";
  if (!is_there(networkd)) GTEST_SKIP() << "systemd-networkd is not installed";
  write("/etc/systemd/network/rdma.network",
        fmt::format("[Match]\nMACAddress={}\n[Network]\nAddress=10.9.0.5/24\nLinkLocalAddressing=no\n"
                    "IPv6AcceptRA=no\n[Route]\nDestination=10.99.0.0/16\nGateway=10.9.0.1\n",
                    mac.text()));
  // It gives its rights up for a user of its own, who must be able to read and write there.
  std::filesystem::permissions("/etc/systemd/network/rdma.network", std::filesystem::perms(0644));
  std::filesystem::create_directories("/run/systemd/netif");
  Program own({"chown", "systemd-network", "/run/systemd/netif"}, log_of("chown"));
  ASSERT_EQ(own.wait(), 0);
  Program daemon({networkd}, log_of("systemd-networkd"));
  is_waited_for("systemd-networkd", [this] { replug_link(); });
}

TEST_F(RealManagers, network_manager) {
  if (!is_there("/usr/sbin/NetworkManager")) GTEST_SKIP() << "NetworkManager is not there: see migration-tests/managers";
  if (!is_there("/usr/bin/dbus-daemon")) GTEST_SKIP() << "dbus-daemon is not installed";
  write("/etc/own-bus.conf", R"(<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen>
<auth>EXTERNAL</auth><policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/>
<allow user="*"/></policy></busconfig>)");
  std::filesystem::create_directories("/run/dbus");
  Program bus({"dbus-daemon", "--config-file=/etc/own-bus.conf", "--nofork"}, log_of("dbus-daemon"));
  ASSERT_TRUE(comes_true([] { return std::filesystem::exists("/run/dbus/system_bus_socket"); }));
  write("/etc/NetworkManager/NetworkManager.conf",
        "[main]\nplugins=keyfile\nauth-polkit=false\ndns=none\nno-auto-default=*\n"
        "[device]\nmatch-device=interface-name:nic0\nmanaged=1\n");  // which is of a kind that it leaves alone else
  write("/etc/NetworkManager/system-connections/rdma.nmconnection",
        fmt::format("[connection]\nid=rdma\nuuid=4f0ce6f2-0000-4000-8000-000000000001\ntype=ethernet\n"
                    "[ethernet]\nmac-address={}\n[ipv4]\nmethod=manual\naddresses=10.9.0.5/24\n"
                    "route1=10.99.0.0/16,10.9.0.1\n[ipv6]\nmethod=disabled\n",
                    mac.text()));
  Program daemon({"NetworkManager", "--no-daemon"}, log_of("NetworkManager"));
  is_waited_for("NetworkManager", [this] { replug_link(); });
}

TEST_F(RealManagers, ifupdown) {
  const char* const udevs_helper = "/lib/udev/ifupdown-hotplug";
  if (!is_there(udevs_helper)) GTEST_SKIP() << "ifupdown is not there: see migration-tests/managers";
  write("/etc/network/interfaces",
        "allow-hotplug nic0\niface nic0 inet static\n  address 10.9.0.5/24\n"
        "  up ip route add 10.99.0.0/16 via 10.9.0.1 dev nic0\n");
  std::filesystem::create_directories("/run/network");
  std::filesystem::create_directories("/run/lock");
  const auto tell = [&](const std::string& action) {  // as its udev rule does
    Program helper({"env", "ACTION=" + action, "INTERFACE=nic0", udevs_helper}, log_of("ifupdown-" + action));
    ASSERT_EQ(helper.wait(), 0);
  };
  tell("add");
  is_waited_for("ifupdown", [&] {
    delete_link("nic0");
    tell("remove");
    // It goes on in the background: what it has to forget it has forgotten before the interface is there again.
    ASSERT_TRUE(comes_true([&] { return agent->managers.manager_of({1, "nic0", mac, 0, true, true, {}, 0}).empty(); }));
    ASSERT_TRUE(make_link("nic0", 1400));
    tell("add");
  });
}

}  // namespace
}  // namespace rdmove::agent::test
