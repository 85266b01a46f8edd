// The files as Debian 12's NetworkManager 1.42, systemd 252 and ifupdown 0.8 write them.
#include "guestagent/agent/managers.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

class ManagersTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = folder.path / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string manager() {
    return ManagerFiles(folder.path).manager_of(LinkInfo{7, "eth0", mac, 1500, true, true, {}, 0});
  }

  TemporaryFolder folder;
};

TEST_F(ManagersTest, nobody) {
  EXPECT_EQ(manager(), "");
}

TEST_F(ManagersTest, network_manager_with_an_active_connection) {
  write("run/NetworkManager/devices/7",
        "[device]\nmanaged=true\nconnection-uuid=4f0ce6f2-0000-4000-8000-000000000001\nnm-owned=false\n");
  EXPECT_EQ(manager(), "NetworkManager");
  write("run/NetworkManager/devices/7", "[device]\nmanaged=true\n");
  EXPECT_EQ(manager(), "") << "it knows the device and does nothing with it";
  write("run/NetworkManager/devices/7", "[device]\nmanaged=false\nconnection-uuid=x\n");
  EXPECT_EQ(manager(), "");
}

TEST_F(ManagersTest, networkd_by_its_administrative_state) {
  for (const auto& [state, name] : {std::pair("configured", "systemd-networkd"),
                                    {"configuring", "systemd-networkd"},
                                    {"unmanaged", ""},
                                    {"failed", ""},
                                    {"pending", ""}}) {
    write("run/systemd/netif/links/7",
          std::string("# This is private data.\nADMIN_STATE=") + state +
              "\nOPER_STATE=routable\nNETWORK_FILE=/etc/systemd/network/a.network\n");
    EXPECT_EQ(manager(), name) << state;
  }
}

TEST_F(ManagersTest, ifupdown_only_for_what_it_brings_up_when_it_is_plugged) {
  write("run/network/ifstate", "lo=lo\neth0=eth0\n");
  EXPECT_EQ(manager(), "");
  write("etc/network/interfaces", "auto lo eth0\niface eth0 inet dhcp\n");
  EXPECT_EQ(manager(), "");
  write("etc/network/interfaces.d/vf", "allow-hotplug eth1 eth0\n");
  EXPECT_EQ(manager(), "ifupdown");
  write("run/network/ifstate", "lo=lo\n");
  EXPECT_EQ(manager(), "") << "it is down";
}

}  // namespace
}  // namespace rdmove::agent::test
