// The shadow device on the provider in memory: descriptors, new objects, peers, refusals, snapshots.
#include <set>

#include "shadowdev/device/snapshot_of.hpp"
#include "shadowdev/device/tests/device_fixture.hpp"
#include "shadowdev/model/snapshot.hpp"

namespace rdmove::shadow::test {
namespace {

using testing::ElementsAre;

TEST_F(DeviceTest, aChannelKeepsItsDescriptorAndItsWakeUps) {
  End a(left.verbs, "left0", {.channel = true}), b(right.verbs, "right0");
  End::connect(a, b);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(a.receive(i, 0, 64), 0);
  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  const int descriptor = a.channel->fd;
  move(left, a);
  EXPECT_EQ(a.channel->fd, descriptor);
  ASSERT_EQ(b.send(IBV_WR_SEND, 1, 0, 8, 0), 0);
  fabric.run();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(a.verbs.get_cq_event(a.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, a.cq);
  EXPECT_EQ(cq_context, &a);
  a.verbs.ack_cq_events(cq, 1);
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(0)));
}

TEST_F(DeviceTest, noEventsOfACqWithoutAChannelAreAcknowledged) {
  End a(left.verbs, "left0");
  a.verbs.ack_cq_events(a.cq, 0);  // as the pingpong programs do at their end
}

TEST_F(DeviceTest, aPeerThatNobodyShadowsGetsItsErrorAtOnce) {
  End a(left.verbs, "left0");
  fake::FakeVerbs plain(fabric);
  fabric.add_device("plain", 3);
  End b(plain, "plain");
  End::connect(a, b);
  ASSERT_EQ(a.receive(1, 0, 64), 0);
  move(left, a);
  EXPECT_THAT(brief(a.poll()), ElementsAre(flush(1)));
  EXPECT_EQ(a.qp->state, IBV_QPS_ERR);
  ASSERT_EQ(a.send(IBV_WR_SEND, 2, 0, 8, 0), 0);
  EXPECT_THAT(brief(a.poll()), ElementsAre(flush(2)));
}

TEST_F(DeviceTest, aProgramThatDestroysEverythingWhileParkedGetsAway) {
  Move* one = nullptr;
  std::unique_ptr<Move> move;
  {
    End a(left.verbs, "left0"), b(right.verbs, "right0");
    End::connect(a, b);
    move = std::make_unique<Move>(left, a.context);
    one = move.get();
    park(*one);
  }
  EXPECT_EQ(one->at(), Move::At::Away);
}

TEST_F(DeviceTest, aPeerMayAskOnlyAboutItsOwnAndOnlyWithItsNextEpoch) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  const auto ask = [&](const ibv_gid& from, std::uint32_t epoch, Ask what) {
    Question question;
    question.ask = what;
    question.from_number = a.qp->qp_num;
    question.to_number = b.qp->qp_num;
    question.from_epoch = epoch;
    return decode_answer(right.desk.answer(from, b.gid, encode(question)))->said;
  };
  const ibv_gid stranger = fake::Fabric::gid_of(99);
  for (const Ask what :
       {Ask::Hold, Ask::Drained, Ask::Freeze, Ask::Reconnect, Ask::Go, Ask::Unhold, Ask::Keys}) {
    EXPECT_EQ(ask(stranger, what == Ask::Go || what == Ask::Keys ? 0 : 1, what), Said::Refused);
    EXPECT_EQ(ask(a.gid, 5, what), Said::Refused);
  }
  EXPECT_EQ(right.verbs.engine().refusals, 14U);
  EXPECT_EQ(ask(a.gid, 0, Ask::Reconnect), Said::Refused) << "it is not parked, and that is no next epoch";
  EXPECT_EQ(ask(a.gid, 1, Ask::Reconnect), Said::NotYet) << "it is not parked";
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  ASSERT_EQ(a.send(IBV_WR_SEND, 1, 0, 8, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_THAT(brief(a.poll()), ElementsAre(good(1)));
}

TEST_F(DeviceTest, aSnapshotShowsWhatIsHeldAndCanBeReadBack) {
  End a(left.verbs, "left0", {.srq = true, .channel = true}), b(right.verbs, "right0");
  End::connect(a, b);
  ASSERT_EQ(a.receive(7, 0, 64), 0);
  const auto before = snapshot_of(left.verbs.engine());
  Move one(left, a.context);
  park(one);
  ASSERT_EQ(a.send(IBV_WR_SEND, 5, 0, 3, IBV_SEND_INLINE), 0);
  const auto parked = snapshot_of(left.verbs.engine());
  const auto bytes = model::encode(parked);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(model::decode(*bytes).value(), parked);
  EXPECT_EQ(parked.contexts.at(0).presence, model::Presence::Parked);
  EXPECT_EQ(parked.qps.at(0).number, before.qps.at(0).number);
  EXPECT_EQ(parked.qps[0].phase, model::Phase::Parked);
  EXPECT_EQ(parked.qps[0].held.at(0).inlined.size(), 3U);
  EXPECT_EQ(parked.srqs.at(0).receives.at(0).wr_id, 7U);
  EXPECT_EQ(parked.regions.at(0).rkey, before.regions.at(0).rkey);
  run(one);
}

TEST_F(DeviceTest, whatIsMadeAfterAMoveCollidesWithNothing) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  move(left, a);
  std::vector<ibv_qp*> qps;
  std::vector<ibv_mr*> mrs;
  std::set<std::uint32_t> numbers{a.qp->qp_num};
  std::set<std::uint32_t> keys{a.mr->rkey};
  for (int i = 0; i < 24; ++i) {
    qps.push_back(a.make_qp());
    mrs.push_back(left.verbs.reg_mr(a.pd, a.memory.data(), 64, 0, IBV_ACCESS_LOCAL_WRITE));
    ASSERT_NE(qps.back(), nullptr);
    ASSERT_NE(mrs.back(), nullptr);
    EXPECT_TRUE(numbers.insert(qps.back()->qp_num).second);
    EXPECT_TRUE(keys.insert(mrs.back()->rkey).second);
  }
  for (ibv_qp* qp : qps) EXPECT_EQ(left.verbs.destroy_qp(qp), 0);
  for (ibv_mr* mr : mrs) EXPECT_EQ(left.verbs.dereg_mr(mr), 0);
}

TEST_F(DeviceTest, aDeviceWithAnotherGidIsNotTaken) {
  End a(left.verbs, "left0");
  Mover mover(left.verbs.engine(), a.context);
  ASSERT_TRUE(mover.begin_park());
  for (int i = 0; i < 100; ++i) {
    const auto step = mover.park();
    ASSERT_TRUE(step);
    if (*step == Mover::Step::Done) break;
    fabric.run();
  }
  ASSERT_TRUE(fabric.remove_device("left0"));
  fabric.add_device("other", 42);
  fabric.add_device("small", 1, {.max_qp = 0});
  const auto other = mover.begin_restore("other");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, testing::HasSubstr("another GID"));
  const auto small = mover.begin_restore("small");
  ASSERT_FALSE(small);
  EXPECT_THAT(small.error().message, testing::HasSubstr("too few queue pairs"));
  EXPECT_FALSE(mover.begin_restore("none"));
}

TEST_F(DeviceTest, xrcWindowsAndPagingOnDemandAreRefused) {
  End a(left.verbs, "left0");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = a.cq;
  init.qp_type = IBV_QPT_XRC_SEND;
  EXPECT_EQ(left.verbs.create_qp(a.pd, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(left.verbs.reg_mr(a.pd, a.memory.data(), 64, 0, IBV_ACCESS_ON_DEMAND), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(a.context->ops.alloc_mw, nullptr);
}

}  // namespace
}  // namespace rdmove::shadow::test
