// Every way back before the point of no return: the VM runs on the source with its VF and its addresses, the
// lease is free, and the command says what failed.
#include "lab.hpp"

namespace rdmove::lab {
namespace {

class Rollback : public Lab {
 protected:
  void expectRolledBack() {
    expectWhole("vm1", "hosta", persistent());
    expectBeatGoesOn("vm1");
  }
};

/// What is put back differs: a persistent domain has a definition that must be right too.
class RollbackOfEachKind : public Rollback, public ::testing::WithParamInterface<bool> {
 protected:
  bool persistent() const override { return GetParam(); }
};
// By two names, since a suite's tests run together: vm1 is made anew once, not before each test.
INSTANTIATE_TEST_SUITE_P(Persistent, RollbackOfEachKind, ::testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Transient, RollbackOfEachKind, ::testing::Values(false));

TEST_F(Rollback, a_holdout_before_the_unplug_detaches_nothing) {
  startBeat("vm1");
  guest("vm1", "ibv_rc_pingpong -d rxe0 -g 1 >/dev/null 2>&1 &");
  const Outcome refused = rdmove("hosta", {"migrate", "vm1", "hostb"});
  EXPECT_EQ(refused.status, 4) << refused.output;
  EXPECT_NE(refused.output.find("ibv_rc_pingpong"), std::string::npos) << refused.output;
  guest("vm1", "kill $(pidof ibv_rc_pingpong)");
  expectRolledBack();
}

TEST_F(Rollback, a_holdout_after_the_unplug_was_asked_is_degraded_and_heals) {
  startBeat("vm1");
  stopDaemonAt("hosta", "departure.Unplugging");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb"}));
  ASSERT_TRUE(within(seconds(30), [] { return daemonIsStopped("hosta"); }));
  // Between the agent's word and the unplug somebody makes a device anew and holds it.
  const Outcome held =
      guest("vm1",
            "rdma link add rxe9 type rxe netdev $(ls /sys/class/net | grep -v lo | while read n; do "
            "grep -q 52:54:00:77 /sys/class/net/$n/address && echo $n; done) && "
            "(ibv_rc_pingpong -d rxe9 -g 1 >/dev/null 2>&1 &)");
  ASSERT_EQ(held.status, 0) << held.output;
  // It holds the device once it has opened it.
  ASSERT_TRUE(within(seconds(10), [] {
    return guest("vm1", "ls -l /proc/$(pidof ibv_rc_pingpong)/fd 2>/dev/null | grep -q uverbs").status == 0;
  }));
  continueDaemon("hosta");
  const Outcome degraded = migrate.wait();
  EXPECT_EQ(degraded.status, 5) << degraded.output;
  ASSERT_TRUE(
      within(seconds(20),
             [] {
               return rdmove("hosta", {"list", "--json"}).output.find("ibv_rc_pingpong") != std::string::npos;
             }))
      << "the holdout is not named: " << rdmove("hosta", {"list", "--json"}).output;
  guest("vm1", "kill $(pidof ibv_rc_pingpong)");
  ASSERT_TRUE(within(seconds(60), [] {
    return rdmove("hosta", {"list", "--json"}).output.find("Degraded") == std::string::npos;
  }));
  expectRolledBack();
}

TEST_F(Rollback, another_domain_of_that_name_at_the_destination_is_found_by_preflight) {
  startBeat("vm1");
  on("hostb", {"sh", "-c",
               "virsh -q define /dev/stdin <<X\n<domain "
               "type='qemu'><name>vm1</name><memory>65536</memory><os><type>hvm</type></os></domain>\nX"});
  ASSERT_EQ(state("hostb", "vm1"), "shut off");
  const std::string before = xml("hosta", "vm1");
  const Outcome refused = rdmove("hosta", {"migrate", "vm1", "hostb"});
  EXPECT_EQ(refused.status, 3) << refused.output;
  EXPECT_NE(refused.output.find("hostb"), std::string::npos) << refused.output;
  EXPECT_EQ(xml("hosta", "vm1"), before);
  EXPECT_EQ(state("hostb", "vm1"), "shut off");
  virsh("hostb", {"undefine", "vm1"});
  expectRolledBack();
}

TEST_F(Rollback, the_destination_refuses_after_preflight) {
  startBeat("vm1");
  stopDaemonAt("hosta", "departure.Transferring");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb"}));
  ASSERT_TRUE(within(seconds(30), [] { return daemonIsStopped("hosta"); }));
  EXPECT_EQ(xml("hosta", "vm1").find("name='ua-rdma0'"), std::string::npos)
      << "the device was not taken out yet";
  lab({"libvirtd", "kill", "hostb"});
  continueDaemon("hosta");
  const Outcome refused = migrate.wait();
  lab({"libvirtd", "start", "hostb"});
  EXPECT_EQ(refused.status, 4) << refused.output;
  EXPECT_NE(refused.output.find("hostb"), std::string::npos) << refused.output;
  expectRolledBack();
}

TEST_P(RollbackOfEachKind, the_transfer_fails_when_the_destinations_libvirtd_is_killed) {
  startBeat("vm1");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb", "--bandwidth", "8"}));
  ASSERT_TRUE(within(seconds(30), transferring));
  lab({"libvirtd", "kill", "hostb"});
  const Outcome failed = migrate.wait();
  EXPECT_EQ(failed.status, 4) << failed.output;
  lab({"libvirtd", "start", "hostb"});
  ASSERT_TRUE(within(seconds(30), [] { return state("hostb", "vm1").empty(); }));
  expectRolledBack();
}

TEST_P(RollbackOfEachKind, cancel_during_the_transfer) {
  startBeat("vm1");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb", "--bandwidth", "8"}));
  ASSERT_TRUE(within(seconds(30), transferring));
  const auto list = nlohmann::json::parse(rdmove("hosta", {"list", "--json"}).output);
  const Outcome cancelled = rdmove("hosta", {"cancel", list["migrations"][0]["id"]});
  EXPECT_EQ(cancelled.status, 0) << cancelled.output;
  const Outcome ended = migrate.wait();
  EXPECT_EQ(ended.status, 4) << ended.output;
  EXPECT_NE(ended.output.find("cancelled"), std::string::npos) << ended.output;
  expectRolledBack();
}

TEST_F(Rollback, the_agent_stops_answering_after_preflight) {
  startBeat("vm1");
  stopDaemonAt("hosta", "departure.Preparing");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb"}));
  ASSERT_TRUE(within(seconds(30), [] { return daemonIsStopped("hosta"); }));
  guest("vm1", "kill -STOP $(pidof rdmove-agent)");
  continueDaemon("hosta");
  const Outcome failed = migrate.wait();
  guest("vm1", "kill -CONT $(pidof rdmove-agent)");
  EXPECT_EQ(failed.status, 4) << failed.output;
  EXPECT_NE(failed.output.find("agent"), std::string::npos) << failed.output;
  // The prepare that was waiting in the port is followed by the restore that took it back.
  ASSERT_TRUE(within(seconds(20), [] { return guest("vm1", "rdma link show rxe0/1").status == 0; }));
  expectRolledBack();
}

}  // namespace
}  // namespace rdmove::lab
