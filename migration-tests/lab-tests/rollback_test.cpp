// Every way back before the point of no return: the VM runs on the source with its VF and its addresses, the lease is
// free, and the command says what failed.
#include <thread>

#include "lab.hpp"

namespace rdmove::lab {
namespace {

class Rollback : public Lab {
 protected:
  void expectRolledBack() {
    expectWhole("vm1", "hosta");
    expectBeatGoesOn("vm1");
  }
  static bool transferring() {
    return virsh("hosta", {"domjobinfo", "vm1"}).output.find("Outgoing migration") != std::string::npos;
  }
};

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
  const Outcome held = guest("vm1", "rdma link add rxe9 type rxe netdev $(ls /sys/class/net | grep -v lo | while read n; do "
                                    "grep -q 52:54:00:77 /sys/class/net/$n/address && echo $n; done) && "
                                    "(ibv_rc_pingpong -d rxe9 -g 1 >/dev/null 2>&1 &) ; sleep 1; pidof ibv_rc_pingpong");
  ASSERT_EQ(held.status, 0) << held.output;
  continueDaemon("hosta");
  const Outcome degraded = migrate.wait();
  EXPECT_EQ(degraded.status, 5) << degraded.output;
  ASSERT_TRUE(within(seconds(20), [] {
    return rdmove("hosta", {"list", "--json"}).output.find("ibv_rc_pingpong") != std::string::npos;
  })) << "the holdout is not named: " << rdmove("hosta", {"list", "--json"}).output;
  guest("vm1", "kill $(pidof ibv_rc_pingpong)");
  ASSERT_TRUE(within(seconds(60), [] {
    return rdmove("hosta", {"list", "--json"}).output.find("Degraded") == std::string::npos;
  }));
  expectRolledBack();
}

TEST_F(Rollback, the_destination_refuses) {
  startBeat("vm1");
  // A domain of that name with another UUID: libvirt there will not take ours, and preflight cannot know.
  on("hostb", {"sh", "-c",
               "virsh -q define /dev/stdin <<X\n<domain type='qemu'><name>vm1</name><memory>65536</memory><os><type>hvm</type></os></domain>\nX"});
  const Outcome refused = rdmove("hosta", {"migrate", "vm1", "hostb"});
  EXPECT_TRUE(refused.status == 4 || refused.status == 3) << refused.output;
  EXPECT_NE(refused.output.find("vm1"), std::string::npos);
  virsh("hostb", {"undefine", "vm1"});
  expectRolledBack();
}

TEST_F(Rollback, the_transfer_fails_when_the_destinations_libvirtd_is_killed) {
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

TEST_F(Rollback, cancel_during_the_transfer) {
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
