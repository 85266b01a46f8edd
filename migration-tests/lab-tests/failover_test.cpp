// Programs that link librdmove keep their connections over moves, and get each message once and in order.
// Every stream is checked by content at both ends, by rdmove-ping itself.
#include <cstdlib>
#include <regex>

#include "ping.hpp"

namespace rdmove::lab {
namespace {

constexpr const char* kMover = "10.77.0.1";
constexpr const char* kPeer = "10.77.0.100";

class Failover : public Lab {
 protected:
  // What other tests have left running knows nothing of librdmove: its server does not register with the
  // agent, and its client holds the device when that leaves without a word.
  void SetUp() override {
    Lab::SetUp();
    for (const char* vm : {"vm1", "peer"}) {
      guest(vm, "kill $(pidof rdma-beat)");
      ASSERT_TRUE(within(seconds(10), [&] { return guest(vm, "pidof rdma-beat").status != 0; }));
    }
  }
  static std::string client(const std::string& server, int connections, int rate,
                            const std::string& more = "") {
    return server + " --port 7472 --connections " + std::to_string(connections) + " --rate " +
           std::to_string(rate) + " --size 256 " + more;
  }
  // An emulated guest needs more than the 2 s that are the default to take hundreds of connections down.
  static std::vector<std::string> moving(const std::string& vm, const std::string& to) {
    return {"migrate", vm, to, "--prepare-deadline", "20000"};
  }
  static void move(const std::string& vm, const std::string& from, const std::string& to) {
    const Outcome moved = rdmove(from, moving(vm, to));
    ASSERT_EQ(moved.status, 0) << moved.output;
  }
  /// Of each connection that has ended: what was acknowledged, of unknown fate and unsent is all that was
  /// sent. The rate goes on while the peer is silent, so there is something of the last.
  static void expectEveryMessageAccountedFor(const Ping& ended) {
    const std::string log = ended.log();
    for (const auto& one : ended.connections()) {
      const std::regex words("connection " + std::to_string(one.value("connection", 0)) +
                             " .*acknowledged up to ([0-9]+), ([0-9]+) of unknown fate, ([0-9]+) unsent");
      std::smatch found;
      ASSERT_TRUE(std::regex_search(log, found, words)) << log;
      const auto acknowledged = std::stoull(found[1]);
      EXPECT_GE(acknowledged, one.value("delivered", std::uint64_t{0}))
          << "an answer is later than its acknowledgement";
      EXPECT_GT(acknowledged, 0U);
      EXPECT_GT(std::stoull(found[3]), 0U) << log;
      EXPECT_EQ(acknowledged + std::stoull(found[2]) + std::stoull(found[3]),
                one.value("sent", std::uint64_t{0}))
          << one.dump() << log;
    }
  }
  /// How often vm1 goes there and back: three times, unless a longer run is asked for.
  static int rounds(int otherwise) {
    const char* asked = std::getenv("RDMOVE_ROUNDS");
    return asked ? std::atoi(asked) : otherwise;
  }
};

TEST_F(Failover, one_and_64_connections_in_both_directions_three_times_there_and_back) {
  Ping at_peer("peer", "ping-server", "--server --port 7472");
  Ping at_mover("vm1", "ping-server", "--server --port 7472");
  Ping one("vm1", "ping-one", client(kPeer, 1, 20));
  Ping many("vm1", "ping-many", client(kPeer, 64, 1));
  Ping one_towards("peer", "ping-one", client(kMover, 1, 20));
  Ping towards("peer", "ping-many", client(kMover, 64, 1));
  expectFlows(one, 1);
  expectFlows(one_towards, 1);
  expectFlows(many, 64);
  expectFlows(towards, 64);
  for (int round = 1; round <= rounds(3); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    move("vm1", "hosta", "hostb");
    expectFlows(one, 1);
    expectFlows(one_towards, 1);
    move("vm1", "hostb", "hosta");
    expectFlows(many, 64);
    expectFlows(towards, 64);
  }
  EXPECT_GE(many.number("blackouts"), 64U * 2 * static_cast<unsigned>(rounds(3)));
  EXPECT_GE(one_towards.number("blackouts"), 2 * static_cast<unsigned>(rounds(3)));
  expectClean(one);
  expectClean(one_towards);
  expectClean(many);
  expectClean(towards);
  expectCleanServer(at_peer);
  expectCleanServer(at_mover);
}

TEST_F(Failover, connections_256_in_both_directions) {
  Ping at_peer("peer", "ping-server", "--server --port 7472");
  Ping at_mover("vm1", "ping-server", "--server --port 7472");
  Ping out("vm1", "ping-many", client(kPeer, 256, 1));
  Ping in("peer", "ping-many", client(kMover, 256, 1));
  expectFlows(out, 256, seconds(120));
  expectFlows(in, 256, seconds(120));
  for (int round = 1; round <= rounds(3); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    for (const auto& [from, to] : {std::pair{"hosta", "hostb"}, std::pair{"hostb", "hosta"}}) {
      move("vm1", from, to);
      expectFlows(out, 256, seconds(120));
      expectFlows(in, 256, seconds(120));
    }
  }
  expectClean(out);
  expectClean(in);
  expectCleanServer(at_peer);
  expectCleanServer(at_mover);
}

// Each message's content is written into the peer's memory before it, looked for there when it comes, and
// read back after its answer; places are used again when the order rule allows it.
TEST_F(Failover, one_sided_operations_keep_their_order_with_new_keys_after_each_move) {
  Ping at_peer("peer", "ping-server", "--server --port 7472");
  Ping at_mover("vm1", "ping-server", "--server --port 7472");
  Ping both("vm1", "ping-both", client(kPeer, 2, 50, "--write --read"));
  Ping writes("peer", "ping-writes", client(kMover, 1, 50, "--write"));
  Ping reads("peer", "ping-reads", client(kMover, 1, 50, "--read"));
  const auto expect_all_flow = [&] {
    const auto written = both.number("written") + writes.number("written");
    const auto read = both.number("read_back") + reads.number("read_back");
    expectFlows(both, 2);
    expectFlows(writes, 1);
    expectFlows(reads, 1);
    EXPECT_GT(both.number("written") + writes.number("written"), written);
    EXPECT_GT(both.number("read_back") + reads.number("read_back"), read);
  };
  expect_all_flow();
  for (const auto& [vm, from, to] :
       {std::tuple{"vm1", "hosta", "hostb"}, std::tuple{"peer", "hostb", "hosta"},
        std::tuple{"peer", "hosta", "hostb"}, std::tuple{"vm1", "hostb", "hosta"}}) {
    SCOPED_TRACE(std::string(vm) + " to " + to);
    move(vm, from, to);
    expect_all_flow();
  }
  for (Ping* one : {&both, &writes, &reads}) EXPECT_GE(one->number("blackouts"), 4U);
  EXPECT_GT(at_peer.number("read_back"), 0U) << "the server has looked for what was written";
  EXPECT_GT(at_mover.number("read_back"), 0U);
  for (Ping* one : {&both, &writes, &reads}) expectClean(*one);
  expectCleanServer(at_peer);
  expectCleanServer(at_mover);
}

// Two loops with a thread each, on one device: neither takes it from under the other, and each hears all.
TEST_F(Failover, a_program_with_several_loops_moves_as_one) {
  Ping server("peer", "ping-server", "--server --port 7472");
  Ping loops("vm1", "ping-loops", client(kPeer, 9, 10, "--loops 3"));
  expectFlows(loops, 9);
  for (const auto& [from, to] : {std::pair{"hosta", "hostb"}, std::pair{"hostb", "hosta"}}) {
    move("vm1", from, to);
    expectFlows(loops, 9);
  }
  EXPECT_GE(loops.number("blackouts"), 2U * 9);
  expectClean(loops);
  expectCleanServer(server);
}

TEST_F(Failover, the_peer_moves_and_then_both_at_once) {
  Ping server("peer", "ping-server", "--server --port 7472");
  Ping one("vm1", "ping-one", client(kPeer, 16, 10));
  expectFlows(one, 16);
  move("peer", "hostb", "hosta");
  expectFlows(one, 16);
  expectWhole("peer", "hosta");
  Running mover(rdmoveWords("hosta", moving("vm1", "hostb")));
  Running peer(rdmoveWords("hosta", moving("peer", "hostb")));
  const Outcome one_moved = mover.wait();
  const Outcome other_moved = peer.wait();
  EXPECT_EQ(one_moved.status, 0) << one_moved.output;
  EXPECT_EQ(other_moved.status, 0) << other_moved.output;
  expectFlows(one, 16);
  expectClean(one);
  expectCleanServer(server);
  move("vm1", "hostb", "hosta");
}

TEST_F(Failover, the_device_vanishes_without_a_word) {
  Ping server("peer", "ping-server", "--server --port 7472");
  Ping one("vm1", "ping-one", client(kPeer, 4, 10));
  expectFlows(one, 4);
  const auto blackouts = one.number("blackouts");
  // As somebody who knows nothing of rdmove would do it; in the guest nobody was asked.
  const std::string nic = rdmaDevice(xml("hosta", "vm1"));
  on("hosta", {"sh", "-c", "printf '%s' \"$0\" >/tmp/nic.xml", nic});
  ASSERT_EQ(virsh("hosta", {"detach-device-alias", "vm1", "ua-rdma0", "--live"}).status, 0);
  ASSERT_TRUE(within(seconds(60), [] { return rdmaDevice(xml("hosta", "vm1")).empty(); }))
      << "somebody in the guest holds the device: "
      << guest("vm1", "rdma link; ls -l /proc/*/fd | grep uverbs").output;
  const Outcome attached = virsh("hosta", {"attach-device", "vm1", "/tmp/nic.xml", "--live"});
  ASSERT_EQ(attached.status, 0) << attached.output;
  // What an administrator's udev rule does.
  ASSERT_TRUE(within(seconds(30), [] {
    return guest("vm1",
                 "name=$(cd /sys/class/net && grep -l 52:54:00:77:00:01 */address | cut -d/ -f1) && [ -n "
                 "\"$name\" ] && "
                 "ip link set \"$name\" up && ip addr replace 10.77.0.1/24 dev \"$name\" && "
                 "rdma link add rxe0 type rxe netdev \"$name\"")
               .status == 0;
  }));
  expectFlows(one, 4);
  EXPECT_GE(one.number("blackouts"), blackouts + 4);
  expectClean(one);
  expectCleanServer(server);
}

TEST_F(Failover, a_peer_process_that_was_started_anew_ends_the_session) {
  auto first = std::make_unique<Ping>("peer", "ping-server", "--server --port 7472");
  Ping old("vm1", "ping-one", client(kPeer, 2, 10));
  expectFlows(old, 2);
  first->send_signal("KILL");
  ASSERT_TRUE(within(seconds(20), [&] { return !first->runs(); }));
  Ping second("peer", "ping-second", "--server --port 7472");
  EXPECT_TRUE(within(seconds(40), [&] {
    const auto all = old.connections();
    return all.size() == 2 && all[0].value("state", "") == "gone" && all[1].value("state", "") == "gone";
  })) << old.log();
  for (const auto& one : old.connections())
    EXPECT_NE(one.value("ended", "").find("restarted"), std::string::npos) << one.dump();
  expectEveryMessageAccountedFor(old);
  EXPECT_EQ(old.finish().status, 1);
  Ping fresh("vm1", "ping-fresh", client(kPeer, 2, 10));
  expectFlows(fresh, 2);
  expectClean(fresh);
  expectCleanServer(second);
}

TEST_F(Failover, a_registered_program_that_ignores_quiesce_is_named_and_the_others_go_on) {
  Ping server("peer", "ping-server", "--server --port 7472");
  Ping good("vm1", "ping-good", client(kPeer, 4, 10));
  Ping deaf("vm1", "ping-deaf", client(kPeer, 1, 10));
  expectFlows(good, 4);
  expectFlows(deaf, 1);
  deaf.send_signal("STOP");
  const Outcome refused = rdmove("hosta", {"migrate", "vm1", "hostb"});
  EXPECT_EQ(refused.status, 4) << refused.output;
  EXPECT_NE(refused.output.find("rdmove-ping"), std::string::npos) << refused.output;
  expectFlows(good, 4);
  deaf.send_signal("KILL");
  ASSERT_TRUE(within(seconds(20), [&] { return !deaf.runs(); }));
  move("vm1", "hosta", "hostb");
  expectFlows(good, 4);
  expectClean(good);
  move("vm1", "hostb", "hosta");
}

}  // namespace
}  // namespace rdmove::lab
