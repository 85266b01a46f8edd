// Programs have threads: posting and polling go on in several while the device moves under them.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "shadowdev/device/in_call.hpp"
#include "shadowdev/device/tests/world.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"

namespace rdmove::shadow::test {
namespace {

using fake::End;

constexpr std::uint64_t kMessages = 400;

TEST(Threads, sendAndReceiveAcrossMovesOfBothEndsInOrder) {
  fake::Fabric fabric(3);
  Exchange exchange;
  Process left(fabric, exchange, "left", 1), right(fabric, exchange, "right", 2);
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  std::atomic<bool> ended{false};
  std::atomic<std::uint64_t> bad{0};
  std::thread wire([&] {
    while (!ended)
      if (!fabric.step()) std::this_thread::yield();
  });
  std::thread sender([&] {
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
    while (done < kMessages) {
      if (posted < kMessages && posted - done < a.options.depth &&
          a.send(IBV_WR_SEND_WITH_IMM, posted, 0, 16, IBV_SEND_SIGNALED) == 0)
        ++posted;
      ibv_wc wc[4];
      const int got = ibv_poll_cq(a.cq, 4, wc);
      for (int i = 0; i < got; ++i, ++done) bad += wc[i].status != IBV_WC_SUCCESS || wc[i].wr_id != done;
      if (bad != 0) return;
    }
  });
  std::thread receiver([&] {
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
    while (done < kMessages) {
      if (posted < kMessages && posted - done < b.options.depth && b.receive(posted, 64, 16) == 0) ++posted;
      ibv_wc wc[4];
      const int got = ibv_poll_cq(b.cq, 4, wc);
      for (int i = 0; i < got; ++i, ++done)
        bad += wc[i].status != IBV_WC_SUCCESS || wc[i].wr_id != done || wc[i].qp_num != b.qp->qp_num;
      if (bad != 0) return;
    }
  });
  unsigned moves = 0;
  std::atomic<bool> traffic_ended{false};
  std::thread watcher([&] {
    sender.join();
    receiver.join();
    traffic_ended = true;
  });
  while (!traffic_ended || moves < 2) {
    Process& process = moves % 2 == 0 ? left : right;
    Move move(process, (moves % 2 == 0 ? a : b).context);
    while (!move.over()) {
      move.step();
      std::this_thread::yield();
    }
    ++moves;
  }
  watcher.join();
  ended = true;
  wire.join();
  EXPECT_EQ(bad, 0U);
  EXPECT_GE(moves, 2U);
}

TEST(Threads, oneThatStaysInsideIsNamedAsTheReason) {
  std::latch is_in(1);
  std::latch may_leave(1);
  std::thread inside([&] {
    const InCall in;
    is_in.count_down();
    may_leave.wait();
  });
  is_in.wait();
  EXPECT_FALSE(quiesce(std::chrono::steady_clock::now() + std::chrono::milliseconds{5}));
  may_leave.count_down();
  inside.join();
  EXPECT_TRUE(quiesce(std::chrono::steady_clock::now() + std::chrono::seconds{5}));
}

TEST(Threads, theSlowFunctionsCountAsOutside) {
  const InCall in;
  const OutOfCall out;
  std::thread other([] { EXPECT_TRUE(quiesce(std::chrono::steady_clock::now() + std::chrono::seconds{5})); });
  other.join();
}

}  // namespace
}  // namespace rdmove::shadow::test
