// The shadow device on the provider in memory: what traffic sees of a move.
#include "shadowdev/device/tests/device_fixture.hpp"

namespace rdmove::shadow::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Posts a signalled one of 8 bytes.
int datagram(End& from, ibv_ah* ah, const End& to, std::uint64_t id) {
  ibv_sge sge = from.at(0, 8);
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {ah, to.qp->qp_num, fake::kQkey};
  return from.post(wr);
}

TEST_F(DeviceTest, aMoveWithWorkInTheQueuesLosesNothing) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(b.receive(i, 64 * i, 64), 0);
  for (std::uint64_t i = 0; i < 4; ++i) {
    a.text(64 * i)[0] = static_cast<char>('a' + i);
    ASSERT_EQ(a.send(IBV_WR_SEND, 100 + i, 64 * i, 64, i == 3 ? 0 : IBV_SEND_SIGNALED), 0);
  }
  fabric.step();
  const auto number = a.qp->qp_num;
  move(left, a);
  ASSERT_EQ(a.send(IBV_WR_SEND, 104, 0, 64, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(100), good(101), good(102), good(104)));
  const auto seen = b.poll();
  EXPECT_THAT(brief(seen), ElementsAre(good(0), good(1), good(2), good(3), good(4)));
  for (const ibv_wc& wc : seen) EXPECT_EQ(wc.qp_num, b.qp->qp_num);
  EXPECT_EQ(a.qp->qp_num, number);
  EXPECT_EQ(b.text(128)[0], 'c');
}

TEST_F(DeviceTest, sendsWhileParkedWaitWithTheirInlineData) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  Move one(left, a.context);
  park(one);
  std::strcpy(a.text(0), "inline");
  ASSERT_EQ(a.send(IBV_WR_SEND, 5, 0, 7, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
  std::strcpy(a.text(0), "changed");
  EXPECT_THAT(a.poll(), IsEmpty());
  run(one);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(5)));
  EXPECT_STREQ(b.text(0), "inline");
}

TEST_F(DeviceTest, aQueueThatIsFullSaysSoWhileParked) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  Move one(left, a.context);
  park(one);
  for (unsigned i = 0; i < a.options.depth; ++i) ASSERT_EQ(a.send(IBV_WR_RDMA_WRITE, i, 0, 8, 0, &b), 0);
  EXPECT_EQ(a.send(IBV_WR_RDMA_WRITE, 99, 0, 8, 0, &b), ENOMEM);
  for (unsigned i = 0; i < a.options.depth; ++i) ASSERT_EQ(a.receive(i, 0, 8), 0);
  EXPECT_EQ(a.receive(99, 0, 8), ENOMEM);
  run(one);
}

TEST_F(DeviceTest, aPeerWithoutAccessFlagsIsDrainedAndKeepsThem) {
  End a(left.verbs, "left0", {.access = 0}), b(right.verbs, "right0", {.access = 0});
  End::connect(a, b);
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 2, 0, 8, 0), 0);
  move(left, a);
  fabric.run();
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(1)));
  EXPECT_THAT(a.poll(), IsEmpty());
  ASSERT_EQ(a.send(IBV_WR_RDMA_WRITE, 3, 0, 8, 0, &b), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(Brief{3, IBV_WC_REM_INV_REQ_ERR}));
}

TEST_F(DeviceTest, keysOfBothEndsAreTranslatedAfterMovesOfBoth) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  Move first(left, a.context), second(right, b.context);
  for (unsigned i = 0; i < 5000 && !(first.over() && second.over()); ++i) {
    first.step();
    second.step();
    fabric.step();
  }
  ASSERT_EQ(first.at(), Move::At::Done) << first.word;
  ASSERT_EQ(second.at(), Move::At::Done) << second.word;
  std::strcpy(a.text(0), "across");
  ASSERT_EQ(a.send(IBV_WR_RDMA_WRITE, 1, 0, 7, IBV_SEND_SIGNALED, &b, 500), 0);
  ASSERT_EQ(b.send(IBV_WR_RDMA_READ, 2, 1000, 7, IBV_SEND_SIGNALED, &a, 0), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(2)));
  EXPECT_STREQ(b.text(500), "across");
  EXPECT_STREQ(b.text(1000), "across");
}

TEST_F(DeviceTest, aKeyThatIsNewIsAskedForAndADeadOneHitsNothing) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  move(right, b);
  std::vector<std::byte> more(64);
  ibv_mr* fresh =
      right.verbs.reg_mr(b.pd, more.data(), more.size(), reinterpret_cast<std::uintptr_t>(more.data()),
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ASSERT_NE(fresh, nullptr);
  EXPECT_NE(fresh->rkey, b.mr->rkey);
  ibv_sge sge = a.at(0, 8);
  std::strcpy(a.text(0), "fresh");
  ibv_send_wr wr{};
  wr.wr_id = 1;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {reinterpret_cast<std::uintptr_t>(more.data()), fresh->rkey};
  ASSERT_EQ(a.post(wr), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1)));
  EXPECT_STREQ(reinterpret_cast<const char*>(more.data()), "fresh");
  wr.wr_id = 2;
  wr.wr.rdma.rkey = 0xDEAD00;
  ASSERT_EQ(a.post(wr), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(Brief{2, IBV_WC_REM_ACCESS_ERR}));
  EXPECT_EQ(right.verbs.dereg_mr(fresh), 0);
}

TEST_F(DeviceTest, anSrqKeepsItsReceivesInOrder) {
  End a(left.verbs, "left0", {.srq = true}), b(right.verbs, "right0");
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_EQ(a.receive(i, 64 * i, 64), 0);
  ASSERT_EQ(b.send(IBV_WR_SEND, 1, 0, 8, 0), 0);
  ASSERT_EQ(b.send(IBV_WR_SEND, 2, 0, 8, 0), 0);
  fabric.run();
  move(left, a);
  for (std::uint64_t i = 6; i < 8; ++i) ASSERT_EQ(a.receive(i, 64 * i, 64), 0);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(b.send(IBV_WR_SEND, 3, 0, 8, 0), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()),
              ElementsAre(good(0), good(1), good(2), good(3), good(4), good(5), good(6), good(7)));
}

TEST_F(DeviceTest, anSrqWhoseQueuePairsNeverSayThatTheyTookTheLastMovesToo) {
  fabric.says_last_wqe = false;
  for (Process* one : {&left, &right})
    one->verbs.engine().options.last_wqe_within = std::chrono::milliseconds(1);
  End a(left.verbs, "left0", {.srq = true}), b(right.verbs, "right0", {.srq = true});
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_EQ(a.receive(i, 64 * i, 64), 0);
  ASSERT_EQ(b.send(IBV_WR_SEND, 1, 0, 8, IBV_SEND_SIGNALED), 0);
  Move one(left, a.context);
  for (int i = 0; i < 1'000'000 && !one.over(); ++i) {  // by the clock here
    one.step();
    fabric.step();
  }
  ASSERT_EQ(one.at(), Move::At::Done) << one.word;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(b.send(IBV_WR_SEND, 3, 0, 8, 0), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(0), good(1), good(2), good(3), good(4), good(5)));
}

TEST_F(DeviceTest, theSrqOfTheEndThatStaysIsNotTouched) {
  End a(left.verbs, "left0"), b(right.verbs, "right0", {.srq = true});
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(b.receive(i, 64 * i, 64), 0);
  move(left, a);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(a.send(IBV_WR_SEND, 3, 0, 8, 0), 0);
  fabric.run();
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(0), good(1), good(2)));
}

TEST_F(DeviceTest, datagramsFindTheQueuePairThatHasMovedAndSayWhereTheyComeFrom) {
  End a(left.verbs, "left0", {.type = IBV_QPT_UD}), b(right.verbs, "right0", {.type = IBV_QPT_UD});
  End::connect(a, b);
  ibv_ah_attr to = End::towards(b.gid);
  ibv_ah* ah = left.verbs.create_ah(a.pd, &to);
  const auto send = [&](std::uint64_t id) { ASSERT_EQ(datagram(a, ah, b, id), 0); };
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(b.receive(i, 256 * i, 256), 0);
  send(1);
  move(right, b);
  send(2);
  move(left, a);
  send(3);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1), good(2), good(3)));
  const auto seen = b.poll();
  EXPECT_THAT(brief(seen), ElementsAre(good(0), good(1), good(2)));
  for (const ibv_wc& wc : seen) EXPECT_EQ(wc.src_qp, a.qp->qp_num);
  EXPECT_EQ(left.verbs.destroy_ah(ah), 0);
}

TEST_F(DeviceTest, datagramsToADeviceThatIsAwayWaitUntilItIsBack) {
  End a(left.verbs, "left0", {.type = IBV_QPT_UD}), b(right.verbs, "right0", {.type = IBV_QPT_UD});
  End::connect(a, b);
  ibv_ah_attr to = End::towards(b.gid);
  ibv_ah* ah = left.verbs.create_ah(a.pd, &to);
  const auto send = [&](std::uint64_t id) { ASSERT_EQ(datagram(a, ah, b, id), 0); };
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(b.receive(i, 256 * i, 256), 0);
  Move one(right, b.context);
  one.step();
  one.step();
  send(1);
  park(one);
  send(2);
  fabric.run();
  EXPECT_THAT(a.poll(), IsEmpty());
  run(one);
  a.poll();  // what waits for a try
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1), good(2)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(0), good(1)));

  Move off(right, b.context);
  off.step();
  off.step();
  send(3);
  off.roll_back();
  a.poll();
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(3)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(2)));
  EXPECT_EQ(left.verbs.destroy_ah(ah), 0);
}

TEST_F(DeviceTest, aMoveThatCannotDrainIsTakenBackWithNothingLost) {
  End a(left.verbs, "left0"), b(right.verbs, "right0", {.access = 0});
  End::connect(a, b);
  ASSERT_EQ(a.send(IBV_WR_SEND, 1, 0, 8, IBV_SEND_SIGNALED), 0);  // and nobody posts a receive
  Move one(left, a.context);
  for (int i = 0; i < 200; ++i) {
    one.step();
    fabric.step();
  }
  ASSERT_EQ(one.at(), Move::At::Parking);
  ASSERT_EQ(a.send(IBV_WR_SEND, 2, 0, 8, IBV_SEND_SIGNALED), 0);
  one.roll_back();
  ASSERT_EQ(b.receive(7, 0, 64), 0);
  ASSERT_EQ(b.receive(8, 0, 64), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1), good(2)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(7), good(8)));
  move(left, a);  // and later it can
}

TEST_F(DeviceTest, unreliableConnectionsMoveToo) {
  End a(left.verbs, "left0", {.type = IBV_QPT_UC}), b(right.verbs, "right0", {.type = IBV_QPT_UC});
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(b.receive(i, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 1, 0, 8, IBV_SEND_SIGNALED), 0);
  move(left, a);
  ASSERT_EQ(a.send(IBV_WR_SEND, 2, 0, 8, IBV_SEND_SIGNALED), 0);
  move(right, b);
  ASSERT_EQ(a.send(IBV_WR_SEND, 3, 0, 8, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1), good(2), good(3)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(0), good(1), good(2)));
}

}  // namespace
}  // namespace rdmove::shadow::test
