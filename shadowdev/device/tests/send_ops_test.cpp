// ibv_wr_*: what a program builds call by call arrives as what it posts, also when it has to wait.
#include "shadowdev/device/send_ops.hpp"

#include "shadowdev/device/tests/device_fixture.hpp"

namespace rdmove::shadow::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct SendOpsTest : DeviceTest {
  /// An end whose QP has send operations.
  static ibv_qp_ex* with_ops(Process& process, End& end) {
    EXPECT_EQ(process.verbs.destroy_qp(end.qp), 0);
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = end.cq;
    init.cap = {end.options.depth, end.options.depth, 2, 2, 64};
    init.qp_type = IBV_QPT_RC;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = end.pd;
    init.send_ops_flags =
        IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    end.qp = create_with_send_ops(process.verbs, &init);
    EXPECT_NE(end.qp, nullptr);
    return send_ops_of(end.qp);
  }
  static void build(ibv_qp_ex* qp, std::uint64_t id) {
    qp->wr_id = id;
    qp->wr_flags = IBV_SEND_SIGNALED;
  }
};

TEST_F(SendOpsTest, aBatchArrivesInOrderAlsoThroughAMove) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  ibv_qp_ex* qp = with_ops(left, a);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(&qp->qp_base, a.qp);
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(b.receive(i, 64 * i, 64), 0);
  std::strcpy(a.text(0), "first");
  Move one(left, a.context);
  for (const bool away : {false, true}) {
    if (away) park(one);
    ibv_wr_start(qp);
    build(qp, away ? 3 : 1);
    ibv_wr_send(qp);
    ibv_wr_set_sge(qp, a.mr->lkey, reinterpret_cast<std::uintptr_t>(a.text(0)), 6);
    build(qp, away ? 4 : 2);
    ibv_wr_send(qp);
    char inlined[] = "inline";
    ibv_wr_set_inline_data(qp, inlined, sizeof inlined);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    std::memset(inlined, 'x', sizeof inlined);
  }
  run(one);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1), good(2), good(3), good(4)));
  EXPECT_THAT(brief(b.poll()), ElementsAre(good(0), good(1), good(2), good(3)));
  EXPECT_STREQ(b.text(0), "first");
  EXPECT_STREQ(b.text(192), "inline");
}

TEST_F(SendOpsTest, remoteOperationsHaveTheirKeysTranslated) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  ibv_qp_ex* qp = with_ops(left, a);
  End::connect(a, b);
  move(right, b);
  std::strcpy(a.text(0), "written");
  const auto at = [&](std::size_t offset) {
    return reinterpret_cast<std::uintptr_t>(b.memory.data()) + offset;
  };
  ibv_wr_start(qp);
  build(qp, 1);
  ibv_wr_rdma_write(qp, b.mr->rkey, at(128));
  const ibv_sge parts[] = {a.at(0, 4), a.at(4, 4)};
  ibv_wr_set_sge_list(qp, 2, parts);
  build(qp, 2);
  ibv_wr_atomic_fetch_add(qp, b.mr->rkey, at(256), 5);
  ibv_wr_set_sge(qp, a.mr->lkey, reinterpret_cast<std::uintptr_t>(a.text(512)), 8);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1), good(2)));
  EXPECT_STREQ(b.text(128), "written");
  std::uint64_t sum = 0;
  std::memcpy(&sum, b.text(256), sizeof sum);
  EXPECT_EQ(sum, 5U);
}

TEST_F(SendOpsTest, whatIsAbandonedIsNotSent) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  ibv_qp_ex* qp = with_ops(left, a);
  End::connect(a, b);
  ibv_wr_start(qp);
  build(qp, 1);
  ibv_wr_send(qp);
  ibv_wr_abort(qp);
  ibv_wr_start(qp);
  EXPECT_EQ(ibv_wr_complete(qp), 0);
  fabric.run();
  EXPECT_THAT(a.poll(), IsEmpty());
}

TEST_F(SendOpsTest, whatThereIsNotIsRefusedAndAPlainQueuePairHasNone) {
  End a(left.verbs, "left0");
  EXPECT_EQ(send_ops_of(a.qp), nullptr);
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = a.cq;
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  init.pd = a.pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_BIND_MW;
  EXPECT_EQ(create_with_send_ops(left.verbs, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  init.send_ops_flags = 0;
  init.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
  EXPECT_EQ(create_with_send_ops(left.verbs, &init), nullptr);
}

}  // namespace
}  // namespace rdmove::shadow::test
