// Programs of RDMA CM that know nothing of rdmove, as rdma-core ships them: under rdmove-shadow, in the VM
// that moves and in its peer, they see no event of a move and find every byte; and at their end each hears
// that the other has disconnected.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>

#include "shadowed.hpp"

namespace rdmove::lab {
namespace {

using std::chrono::steady_clock;

class ShadowCmProof : public Shadow {
 protected:
  /// A server, once its listener is there: clients do not try again.
  static void await_listener() {
    EXPECT_TRUE(within(seconds(20), [] {
      return guest("peer", "rdma resource show cm_id | grep -q LISTEN").status == 0;
    })) << "nobody listens in peer";
  }
  static std::string ping(int count) {
    return std::string("rping -c -v -V -a ") + kPeer + " -C " + std::to_string(count);
  }
  /// How many pings take so long on this machine, now.
  static int pings_of(seconds time) {
    constexpr int kSome = 200;
    const Shadowed server("peer", "shadow-server", std::string("rping -s -v -V -a ") + kPeer);
    await_listener();
    const auto begin = steady_clock::now();
    const Shadowed client("vm1", "shadow-client", ping(kSome));
    EXPECT_TRUE(client.ends(seconds(60)) && server.ends(seconds(20))) << client.log() << server.log();
    EXPECT_EQ(client.status(), "0\n") << client.log();
    const std::chrono::duration<double> took = steady_clock::now() - begin;
    return static_cast<int>(kSome * static_cast<double>(time.count()) / took.count());
  }
  static void wait_for_the_second(const std::string& name, const std::string& more, int connections,
                                  const std::function<bool()>& first_is_there);
  /// Packets that have come to the peer's device.
  static long received() {
    return std::atol(
        guest("peer", "cat /sys/class/infiniband/*/ports/1/hw_counters/rcvd_pkts").output.c_str());
  }
  /// `clients` of them at a server that outlives them.
  static void ping_through(const std::vector<Step>& steps, int clients) {
    // Several of them keep the guests busier than one: together they do several times as much.
    const int count =
        pings_of(seconds(20) * static_cast<int>(steps.size())) * (clients > 1 ? 6 : 1) / clients;
    if (HasFailure()) return;
    const Shadowed server("peer", "shadow-server",
                          std::string("rping -s -v -V -a ") + kPeer + (clients > 1 ? " -P" : ""));
    await_listener();
    std::vector<std::unique_ptr<Shadowed>> all;
    for (int i = 0; i < clients; ++i)
      all.push_back(std::make_unique<Shadowed>("vm1", "shadow-client" + std::to_string(i), ping(count)));
    const auto run = [&] {
      bool running = server.runs();
      for (const auto& one : all) running = one->runs() && running;
      return running;
    };
    for (const Step& step : steps) {
      EXPECT_TRUE(run()) << all[0]->log() << server.log();
      move(step);
    }
    EXPECT_TRUE(run()) << "it had ended before the last move had: " << all[0]->log() << server.log();
    for (const auto& one : all) {
      EXPECT_TRUE(one->ends(seconds(300))) << "it waits: " << one->log() << server.log();
      EXPECT_EQ(one->status(), "0\n") << one->log();
      EXPECT_EQ(one->lines_with("ping data: rdma-ping-"), count) << one->log();
      EXPECT_EQ(one->lines_with("removal"), 0) << one->log();
    }
    EXPECT_EQ(server.lines_with("removal"), 0) << server.log();
    EXPECT_TRUE(within(seconds(20), [&] { return server.lines_with("server DISCONNECT EVENT") == clients; }))
        << server.log();
    if (clients == 1) {
      EXPECT_TRUE(server.ends(seconds(20))) << server.log();
      EXPECT_EQ(server.status(), "0\n") << server.log();
    }
    std::cout << "    rping -v -V: " << clients << " clients, " << count << " pings each, " << steps.size()
              << " moves\n";
  }
};

/// A server that waits for one more client: the first one's connections are there over all moves, and are
/// used afterwards, beside new ones.
void ShadowCmProof::wait_for_the_second(const std::string& name, const std::string& more, int connections,
                                        const std::function<bool()>& first_is_there) {
  const auto words = [&](int many) { return name + " -c " + std::to_string(many) + more; };
  const Shadowed server("peer", "shadow-server", words(2 * connections));
  await_listener();
  const std::string client = words(connections) + " -s " + kPeer;
  const Shadowed first("vm1", "shadow-first", client);
  ASSERT_TRUE(within(seconds(30), first_is_there)) << first.log() << server.log();
  for (const Step& step : kBothThereAndBack) {
    EXPECT_TRUE(first.runs() && server.runs()) << first.log() << server.log();
    move(step);
  }
  const Shadowed second("vm1", "shadow-second", client);
  for (const Shadowed* one : {&first, &second, &server}) {
    EXPECT_TRUE(one->ends(seconds(60))) << "it waits: " << one->log();
    EXPECT_EQ(one->status(), "0\n") << one->log();
    EXPECT_EQ(one->lines_with("data transfers complete"), 1) << one->log();
    EXPECT_EQ(one->lines_with("event:"), 0) << one->log();
  }
  std::cout << "    " << client << ": " << connections << " moved connections and as many new ones, "
            << kBothThereAndBack.size() << " moves\n";
}

TEST_F(ShadowCmProof, rping_as_mover_and_as_peer_there_and_back) {
  ping_through(kBothThereAndBack, 1);
}

TEST_F(ShadowCmProof, rping_with_four_clients_there_and_back) {
  ping_through(kBothThereAndBack, 4);
}

TEST_F(ShadowCmProof, ucmatose_with_connections_from_before_and_after) {
  constexpr int kEach = 8;
  wait_for_the_second("ucmatose", " -C 100 -S 4000", kEach, [] {
    return guest("peer", "[ $(rdma resource show cm_id | grep -c 'state CONNECT') = 8 ]").status == 0;
  });
}

TEST_F(ShadowCmProof, udaddy_with_datagrams_from_before_and_after) {
  constexpr int kMessages = 100;
  const long before = received();
  wait_for_the_second("udaddy", " -C " + std::to_string(kMessages), 1,
                      [&] { return received() >= before + kMessages; });
}

TEST_F(ShadowCmProof, rstream_is_left_alone_and_named) {
  const Shadowed server("peer", "shadow-server", "rstream");
  await_listener();
  const Shadowed client("vm1", "shadow-client", std::string("rstream -S 1000 -I 1000000 -s ") + kPeer);
  ASSERT_TRUE(within(seconds(20), [&] { return client.lines_with("uses rsockets") == 1; })) << client.log();
  const Outcome refused = rdmove("hosta", {"migrate", "vm1", "hostb"});
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.output.find("(rstream)"), std::string::npos) << refused.output;
  std::cout << "    rstream: not shadowed, and named as a holdout\n";
}

}  // namespace
}  // namespace rdmove::lab
