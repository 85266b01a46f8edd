// libvirt's hook on real libvirt: what plain virsh may bring to a host, and what doctor knows of it.
#include "lab.hpp"

namespace rdmove::lab {
namespace {

const std::vector<std::string> kToHostb = {
    "migrate", "--live", "--p2p", "--persistent", "--undefinesource", "vm1", "qemu+tcp://hostb/system"};

class Hook : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    ASSERT_EQ(lab({"hook", "on", "hostb"}).status, 0);
    // The reload is libvirtd's own affair: its word for it is the call of the hook for daemons.
    ASSERT_TRUE(within(seconds(10), [] { return findings().find("hook-not-called") == std::string::npos; }))
        << findings();
  }
  void TearDown() override {
    Lab::TearDown();
    lab({"hook", "off", "hostb"});
  }
  static std::string findings() { return rdmove("hostb", {"doctor", "--json"}).output; }
  static void expectStayed() {
    EXPECT_EQ(state("hosta", "vm1"), "running");
    EXPECT_EQ(state("hostb", "vm1"), "");
  }
};

TEST_F(Hook, plain_virsh_cannot_bring_a_vm_that_was_not_prepared) {
  const Outcome moved = virsh("hosta", kToHostb);
  EXPECT_NE(moved.status, 0);
  EXPECT_NE(moved.output.find("vm1 has RDMA devices and was not prepared for hostb"), std::string::npos)
      << moved.output;
  expectStayed();
  expectWhole("vm1", "hosta");
}

TEST_F(Hook, a_daemon_that_is_down_blocks_only_vms_with_metadata) {
  ASSERT_EQ(lab({"daemon", "stop", "hostb"}).status, 0);
  const Outcome refused = virsh("hosta", kToHostb);
  EXPECT_NE(refused.output.find("systemctl start rdmoved"), std::string::npos) << refused.output;
  expectStayed();

  const std::string element = virsh("hosta", {"metadata", "vm1", "urn:rdmove:domain:1"}).output;
  ASSERT_EQ(
      virsh("hosta", {"metadata", "vm1", "urn:rdmove:domain:1", "--live", "--config", "--remove"}).status, 0);
  const Outcome moved = virsh("hosta", kToHostb);
  EXPECT_EQ(moved.status, 0) << moved.output;
  EXPECT_EQ(state("hostb", "vm1"), "running");
  for (const char* host : {"hosta", "hostb"}) lab({"vm", "destroy", std::string("vm1@") + host});
}

TEST_F(Hook, lets_rdmoves_own_migrations_in) {
  const Outcome moved = rdmove("hosta", {"migrate", "vm1", "hostb"});
  EXPECT_EQ(moved.status, 0) << moved.output;
  expectWhole("vm1", "hostb");
  EXPECT_EQ(rdmove("hostb", {"migrate", "vm1", "hosta"}).status, 0);
}

TEST_F(Hook, doctor_knows_whether_the_running_libvirt_calls_it) {
  EXPECT_NE(findings().find("\"code\":\"hook\""), std::string::npos) << findings();
  EXPECT_NE(rdmove("hosta", {"doctor", "--json"}).output.find("\"code\":\"no-hook\""), std::string::npos);
  // Another libvirt has not called it yet, until it does so for the VMs that it finds and for itself.
  lab({"libvirtd", "kill", "hostb"});
  EXPECT_TRUE(within(seconds(10), [] { return findings().find("hook-not-called") != std::string::npos; }));
  lab({"libvirtd", "start", "hostb"});
  EXPECT_TRUE(within(seconds(10), [] { return findings().find("\"code\":\"hook\"") != std::string::npos; }))
      << findings();
}

}  // namespace
}  // namespace rdmove::lab
