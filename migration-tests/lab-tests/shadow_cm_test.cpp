// Programs of RDMA CM that know nothing of rdmove, as rdma-core ships them: under rdmove-shadow, in the VM
// that moves and in its peer, they see no event of a move and find every byte; and at their end each hears
// that the other has disconnected.
#include <chrono>
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
  /// `clients` of them at a server that outlives them.
  static void ping_through(const std::vector<Step>& steps, int clients) {
    const int count = pings_of(seconds(20) * static_cast<int>(steps.size())) / clients;
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

TEST_F(ShadowCmProof, rping_as_mover_and_as_peer_there_and_back) {
  ping_through(kBothThereAndBack, 1);
}

TEST_F(ShadowCmProof, rping_with_four_clients_there_and_back) {
  ping_through(kBothThereAndBack, 4);
}

}  // namespace
}  // namespace rdmove::lab
