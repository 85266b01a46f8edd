// The shadow device on the provider in memory: what a program sees of a move.
#include <gmock/gmock.h>

#include <set>

#include "shadowdev/device/snapshot_of.hpp"
#include "shadowdev/device/tests/world.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"
#include "shadowdev/model/snapshot.hpp"

namespace rdmove::shadow::test {
namespace {

using fake::End;
using testing::ElementsAre;
using testing::IsEmpty;

using Brief = std::pair<std::uint64_t, ibv_wc_status>;
std::vector<Brief> brief(const std::vector<ibv_wc>& all) {
  std::vector<Brief> said;
  for (const ibv_wc& wc : all) said.emplace_back(wc.wr_id, wc.status);
  return said;
}
Brief good(std::uint64_t id) {
  return {id, IBV_WC_SUCCESS};
}
Brief flush(std::uint64_t id) {
  return {id, IBV_WC_WR_FLUSH_ERR};
}

struct DeviceTest : testing::Test {
  void run(Move& move, unsigned most = 5000) {
    for (unsigned i = 0; i < most && !move.over(); ++i) {
      move.step();
      fabric.step();
    }
    EXPECT_EQ(move.at(), Move::At::Done) << move.word;
  }
  void park(Move& move) {
    for (unsigned i = 0; i < 5000 && move.at() != Move::At::Away; ++i) {
      move.step();
      fabric.step();
    }
    ASSERT_EQ(move.at(), Move::At::Away) << move.word;
  }
  void move(Process& process, End& end) {
    Move one(process, end.context);
    run(one);
  }

  fake::Fabric fabric{11};
  Exchange exchange;
  Process left{fabric, exchange, "left", 1};
  Process right{fabric, exchange, "right", 2};
};

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
  const auto send = [&](std::uint64_t id) {
    ibv_sge sge = a.at(0, 8);
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {ah, b.qp->qp_num, fake::kQkey};
    ASSERT_EQ(a.post(wr), 0);
  };
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
