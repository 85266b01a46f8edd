// The provider in memory behaves as hardware and rxe were seen to, also where that is not what one expects.
#include <gmock/gmock.h>

#include "shadowdev/fakeverbs/fabric.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"

namespace rdmove::shadow::fake {
namespace {

using testing::ElementsAre;

std::vector<std::pair<std::uint64_t, ibv_wc_status>> brief(const std::vector<ibv_wc>& all) {
  std::vector<std::pair<std::uint64_t, ibv_wc_status>> said;
  for (const ibv_wc& wc : all) said.emplace_back(wc.wr_id, wc.status);
  return said;
}
std::pair<std::uint64_t, ibv_wc_status> good(std::uint64_t id) {
  return {id, IBV_WC_SUCCESS};
}
std::pair<std::uint64_t, ibv_wc_status> flush(std::uint64_t id) {
  return {id, IBV_WC_WR_FLUSH_ERR};
}

struct FakeVerbsTest : testing::Test {
  FakeVerbsTest() {
    fabric.add_device("a", 1);
    fabric.add_device("b", 2);
  }
  Fabric fabric{7};
  FakeVerbs verbs{fabric};
};

TEST_F(FakeVerbsTest, messagesArriveInOrderWithTheirData) {
  End a(verbs, "a"), b(verbs, "b");
  End::connect(a, b);
  std::strcpy(a.text(0), "first");
  std::strcpy(a.text(100), "second, of two packets");
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  ASSERT_EQ(b.receive(2, 1000, 400), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 10, 0, 6, 0), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 11, 100, 300, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(11)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(1), good(2)));
  EXPECT_STREQ(b.text(0), "first");
  EXPECT_STREQ(b.text(1000), "second, of two packets");
}

TEST_F(FakeVerbsTest, psnsCountPacketsAndWrapAt24Bits) {
  End a(verbs, "a"), b(verbs, "b");
  End::connect(a, b);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(b.send(IBV_WR_RDMA_WRITE, 1, 0, 1024, 0, &a), 0);
  fabric.run();
  ibv_qp_attr sender{}, receiver{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(verbs.query_qp(b.qp, &sender, 0, &init), 0);
  ASSERT_EQ(verbs.query_qp(a.qp, &receiver, 0, &init), 0);
  EXPECT_EQ(sender.sq_psn, (0xFFFFF0U + 24) & 0xFFFFFFU);
  EXPECT_EQ(receiver.rq_psn, sender.sq_psn);
}

TEST_F(FakeVerbsTest, oneSidedOperationsReadWriteAndCount) {
  End a(verbs, "a"), b(verbs, "b");
  End::connect(a, b);
  std::strcpy(a.text(0), "written");
  std::strcpy(b.text(512), "read");
  ASSERT_EQ(a.send(IBV_WR_RDMA_WRITE, 1, 0, 8, 0, &b, 128), 0);
  ASSERT_EQ(a.send(IBV_WR_RDMA_READ, 2, 1024, 5, IBV_SEND_SIGNALED, &b, 512), 0);
  ibv_sge result = a.at(2048, 8);
  ibv_send_wr add{};
  add.wr_id = 3;
  add.sg_list = &result;
  add.num_sge = 1;
  add.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  add.send_flags = IBV_SEND_SIGNALED;
  add.wr.atomic.remote_addr = reinterpret_cast<std::uintptr_t>(b.memory.data()) + 2048;
  add.wr.atomic.rkey = b.mr->rkey;
  add.wr.atomic.compare_add = 5;
  ASSERT_EQ(a.post(add), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(2), good(3)));
  EXPECT_STREQ(b.text(128), "written");
  EXPECT_STREQ(a.text(1024), "read");
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(b.text(2048)), 5U);
}

TEST_F(FakeVerbsTest, anEmptyWriteNeedsTheAccessFlagOfThePeersQueuePair) {
  End a(verbs, "a"), b(verbs, "b", {.access = 0});
  End::connect(a, b);
  ASSERT_EQ(b.receive(5, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_RDMA_WRITE, 1, 0, 0, IBV_SEND_SIGNALED), 0);
  fabric.run();
  const auto seen = a.poll();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(a.qp->state, IBV_QPS_ERR);
  EXPECT_EQ(b.qp->state, IBV_QPS_ERR);
  EXPECT_THAT(brief(b.poll()), ElementsAre(flush(5)));
}

TEST_F(FakeVerbsTest, theFlagCanBeGrantedAndTakenBackWhileTheQueuePairWorks) {
  End a(verbs, "a"), b(verbs, "b", {.access = 0});
  End::connect(a, b);
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(verbs.modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
  ASSERT_EQ(a.send(IBV_WR_RDMA_WRITE, 1, 0, 0, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1)));
}

TEST_F(FakeVerbsTest, aSenderWaitsForAReceiveAsLongAsItsRetriesLast) {
  End a(verbs, "a"), b(verbs, "b");
  End::connect(a, b);
  ASSERT_EQ(a.send(IBV_WR_SEND, 1, 0, 8, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_TRUE(a.poll().empty());
  ASSERT_EQ(b.receive(2, 0, 64), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1)));

  End c(verbs, "a", {.rnr_retry = 2}), d(verbs, "b");
  End::connect(c, d);
  ASSERT_EQ(c.send(IBV_WR_SEND, 3, 0, 8, 0), 0);
  fabric.run();
  EXPECT_THAT(brief(c.poll()), ElementsAre(std::pair{std::uint64_t{3}, IBV_WC_RNR_RETRY_EXC_ERR}));
}

TEST_F(FakeVerbsTest, errorFlushesInOrderAndLosesWhatIsPostedAfterwards) {
  End a(verbs, "a"), b(verbs, "b");
  End::connect(a, b);
  ASSERT_EQ(a.receive(1, 0, 64), 0);
  ASSERT_EQ(a.receive(2, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 3, 0, 8, 0), 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(verbs.modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
  EXPECT_TRUE(a.poll().empty()) << "a flush takes a moment";
  EXPECT_EQ(a.receive(4, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 5, 0, 8, 0), 0);
  fabric.run();
  const auto seen = a.poll();
  EXPECT_THAT(brief(seen), ElementsAre(flush(3), flush(1), flush(2), flush(5)));
  for (const ibv_wc& wc : seen) EXPECT_EQ(wc.opcode, 0) << "nothing tells a send from a receive";
}

TEST_F(FakeVerbsTest, anSrqIsNotFlushedButItsQueuePairsSayWhenTheyAreDone) {
  End a(verbs, "a", {.srq = true}), b(verbs, "b");
  End::connect(a, b);
  ASSERT_EQ(a.receive(1, 0, 64), 0);
  ASSERT_EQ(a.receive(2, 0, 64), 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(verbs.modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
  fabric.run();
  EXPECT_TRUE(a.poll().empty());
  ibv_async_event event{};
  ASSERT_EQ(verbs.get_async_event(a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element.qp, a.qp);
}

TEST_F(FakeVerbsTest, datagramsNeedTheRightQkeyAndMayBeLost) {
  End a(verbs, "a", {.type = IBV_QPT_UD}), b(verbs, "b", {.type = IBV_QPT_UD});
  End::connect(a, b);
  ibv_ah_attr to = End::towards(b.gid);
  ibv_ah* ah = verbs.create_ah(a.pd, &to);
  ASSERT_NE(ah, nullptr);
  std::strcpy(a.text(0), "datagram");
  ibv_sge sge = a.at(0, 9);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {ah, b.qp->qp_num, kQkey};
  ASSERT_EQ(b.receive(1, 0, 256), 0);
  for (const std::uint32_t qkey : {kQkey + 1, kQkey, kQkey}) {  // dropped, received, without a receive
    wr.wr.ud.remote_qkey = qkey;
    ASSERT_EQ(a.post(wr), 0);
  }
  fabric.run();
  EXPECT_EQ(a.poll().size(), 3U);
  const auto seen = b.poll();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].byte_len, 49U);
  EXPECT_EQ(seen[0].src_qp, a.qp->qp_num);
  EXPECT_STREQ(b.text(40), "datagram");
  EXPECT_EQ(verbs.destroy_ah(ah), 0);
}

TEST_F(FakeVerbsTest, aSurpriseTakesWhatWasOnItsWayAndNothingAnswersAfterwards) {
  End a(verbs, "a"), b(verbs, "b");
  End::connect(a, b);
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 2, 0, 8, IBV_SEND_SIGNALED), 0);
  ASSERT_TRUE(fabric.step());  // executed, and neither end knows
  fabric.surprise_remove("b", Loss::LastCompletions);
  fabric.run();
  EXPECT_TRUE(b.poll().empty());
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(verbs.query_qp(b.qp, &attr, 0, &init), EIO);
  EXPECT_EQ(b.send(IBV_WR_SEND, 3, 0, 8, IBV_SEND_SIGNALED), 0) << "a doorbell that nobody reads";
  ibv_async_event event{};
  ASSERT_EQ(verbs.get_async_event(b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
}

TEST_F(FakeVerbsTest, anArmedQueueWakesItsChannelOnce) {
  End a(verbs, "a"), b(verbs, "b", {.channel = true});
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 2; ++i) ASSERT_EQ(b.receive(i, 0, 64), 0);
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 0), 0);
  for (std::uint64_t i = 0; i < 2; ++i) ASSERT_EQ(a.send(IBV_WR_SEND, i, 0, 8, 0), 0);
  fabric.run();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(verbs.get_cq_event(b.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, b.cq);
  EXPECT_EQ(cq_context, &b);
  EXPECT_EQ(verbs.destroy_cq(b.cq), EBUSY) << "it has a QP and an event that was not acknowledged";
  verbs.ack_cq_events(cq, 1);
}

TEST_F(FakeVerbsTest, anyCallFailsOnDemandOnce) {
  End a(verbs, "a");
  fabric.faults.fail_after(1, ENOSPC);
  ibv_pd* pd = verbs.alloc_pd(a.context);
  ASSERT_NE(pd, nullptr);
  errno = 0;
  EXPECT_EQ(verbs.alloc_pd(a.context), nullptr);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(verbs.dealloc_pd(pd), 0);
}

TEST_F(FakeVerbsTest, numbersBeginAgainOnTheNextDevice) {
  std::uint32_t first = 0;
  {
    End a(verbs, "a");
    first = a.qp->qp_num;
  }
  ASSERT_TRUE(fabric.remove_device("a"));
  fabric.add_device("a2", 1);
  End again(verbs, "a2");
  EXPECT_LT(first, 17U + 8);
  EXPECT_LT(again.qp->qp_num, 17U + 8);
}

}  // namespace
}  // namespace rdmove::shadow::fake
