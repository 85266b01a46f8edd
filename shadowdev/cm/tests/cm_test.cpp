// Connections that RDMA CM has made, and moves of either end: what programs see of them, and what the kernel
// is left with.
#include "shadowdev/cm/tests/cm_fixture.hpp"

namespace rdmove::shadow::test {
namespace {

using testing::ElementsAre;

TEST_F(CmTest, aConnectionOutlivesTheMoveOfEitherEnd) {
  connect_both();
  expect_data(client, server, 1);
  move_away_and_back(client);
  expect_silence();
  expect_data(client, server, 2);
  expect_data(server, client, 3);
  move_away_and_back(server);
  expect_silence();
  expect_data(client, server, 4);
  move_away_and_back(client);
  expect_data(server, client, 5);
  expect_silence();
}

TEST_F(CmTest, theKernelForgetsBothEndsAtTheFirstMove) {
  connect_both();
  EXPECT_EQ(kernel.connections(0), 1U);
  Move move(left, client.end.context);
  park(move, client);
  EXPECT_EQ(kernel.connections(0), 0U);
  EXPECT_EQ(kernel.connections(1), 0U);
  restore(move, client);
  EXPECT_EQ(kernel.connections(0), 0U);
  EXPECT_NE(client.id->verbs, nullptr);
  EXPECT_EQ(client.id->channel, client.channel);
}

TEST_F(CmTest, listenersListenAgainAtTheirAddress) {
  connect_both();
  Move move(right, server.end.context);
  park(move, server);
  EXPECT_EQ(kernel.listeners(1), 0U);
  restore(move, server);
  EXPECT_EQ(kernel.listeners(1), 1U);
  const auto [one, other] = connect(client, server);
  expect_silence();
  for (const auto& [program, id] : {std::pair{&client, one}, std::pair{&server, other}}) {
    program->destroy_qp(*id);
    EXPECT_EQ(program->cm.destroy_id(*id), 0);
    while (client.is_readable()) client.next();
    while (server.is_readable()) server.next();
  }
}

TEST_F(CmTest, aListenerAtEveryAddressIsLeftToTheKernel) {
  server.listen(kPort, true);
  move_away_and_back(server);
  EXPECT_EQ(kernel.listeners(1), 1U);
  expect_silence();
}

TEST_F(CmTest, aListenerWhoseAddressIsNotThereYetIsTriedAgain) {
  server.listen();
  Move move(right, server.end.context);
  park(move, server);
  EXPECT_FALSE(server.cm.come_back());
  restore(move, server);
  EXPECT_EQ(kernel.listeners(1), 1U);
}

TEST_F(CmTest, aDisconnectAfterAMoveIsHeardAtBothEnds) {
  connect_both();
  move_away_and_back(client);
  ASSERT_EQ(client.cm.disconnect(*client.id), 0);
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(server.from, server.id);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(server.cm.disconnect(*server.id), 0);
  tend();
  expect_silence();
  EXPECT_EQ(client.id->qp->state, IBV_QPS_ERR);
  EXPECT_EQ(server.id->qp->state, IBV_QPS_ERR);
}

TEST_F(CmTest, aDisconnectOfThePeerWhileParkedComesAfterItsData) {
  connect_both();
  ASSERT_EQ(client.end.receive(1, 0, 64), 0);
  Move move(left, client.end.context);
  park(move, client);
  std::strcpy(server.end.text(64), "last words");
  ASSERT_EQ(server.end.send(IBV_WR_SEND, 7, 64, 64, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(server.cm.disconnect(*server.id), 0);
  tend();
  expect_silence();
  restore(move, client);
  fabric.run();
  tend();
  EXPECT_THAT(brief(client.end.poll()), ElementsAre(good(1)));
  EXPECT_STREQ(client.end.text(0), "last words");
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_THAT(brief(server.end.poll()), ElementsAre(good(7)));
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, aDisconnectOfOnesOwnWhileParkedComesAfterItsData) {
  connect_both();
  ASSERT_EQ(server.end.receive(1, 0, 64), 0);
  Move move(left, client.end.context);
  park(move, client);
  ASSERT_EQ(client.end.send(IBV_WR_SEND, 7, 64, 64, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(client.cm.disconnect(*client.id), 0);
  restore(move, client);
  fabric.run();
  tend();
  EXPECT_THAT(brief(server.end.poll()), ElementsAre(good(1)));
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, aMoveThatIsCalledOffLeavesTheConnectionToTheKernel) {
  connect_both();
  Move move(left, client.end.context);
  for (int i = 0; i < 3; ++i) step(move);
  ASSERT_EQ(move.at(), Move::At::Parking);
  EXPECT_TRUE(client.id->buried);
  roll_back(move);
  EXPECT_FALSE(client.id->buried);
  EXPECT_EQ(kernel.connections(0), 1U);
  expect_silence();
  expect_data(client, server, 1);
  ASSERT_EQ(client.cm.disconnect(*client.id), 0);
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, aDisconnectInAMoveThatIsCalledOffIsSaidByTheKernel) {
  connect_both();
  Move move(left, client.end.context);
  for (int i = 0; i < 3; ++i) step(move);
  ASSERT_TRUE(client.id->buried);
  ASSERT_EQ(client.cm.disconnect(*client.id), 0);
  tend();
  expect_silence();
  roll_back(move);
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, anEndThatIsDestroyedWithoutAWordIsHeardOfToo) {
  connect_both();
  move_away_and_back(server);
  client.destroy_qp(*client.id);
  ASSERT_EQ(client.cm.destroy_id(*client.id), 0);
  client.id = nullptr;
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, anEndThatIsDestroyedWhileTheOtherIsAwayIsHeardOfLater) {
  connect_both();
  Move move(right, server.end.context);
  park(move, server);
  client.destroy_qp(*client.id);
  ASSERT_EQ(client.cm.destroy_id(*client.id), 0);
  client.id = nullptr;
  expect_silence();
  restore(move, server);
  tend();
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, aPeerThatWasKilledAfterAMoveIsMissed) {
  connect_both();
  move_away_and_back(client);
  for (int i = 0; i < 5; ++i) tend();
  expect_silence();
  Engine& engine = server.process.verbs.engine();
  engine.connections = nullptr;  // as whoever is killed, it says nothing
  server.process.verbs.destroy_qp(server.id->qp);
  server.end.qp = server.spare;
  server.id->qp = nullptr;
  engine.connections = &server.cm;
  client.cm.tend();
  EXPECT_FALSE(client.is_readable());
  client.cm.tend();
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, anEstablishedThatIsNotReadYetIsShownAfterTheMove) {
  server.listen();
  const auto [one, other] = accepted(client, server);
  client.use(*one);
  server.use(*other);
  move_away_and_back(client);
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_ESTABLISHED);
  expect_silence();
  expect_data(server, client, 1);
}

TEST_F(CmTest, whoIsNotAnsweredWhenItsDeviceLeavesIsUnreachable) {
  server.listen();
  VirtualId* one = client.make_id();
  client.resolve(*one, 1);
  client.make_qp(*one);
  ASSERT_EQ(client.cm.connect(*one, nullptr), 0);
  EXPECT_FALSE(client.cm.is_settled());
  client.use(*one);
  move_away_and_back(client);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(client.status, -ETIMEDOUT);
  ASSERT_EQ(server.next(), RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(server.cm.destroy_id(*server.from), 0);
}

TEST_F(CmTest, anIdThatHasAPathIsUsedAfterTheMove) {
  server.listen();
  VirtualId* one = client.make_id();
  client.resolve(*one, 1);
  client.make_qp(*one);
  client.use(*one);
  move_away_and_back(client);
  expect_silence();
  ASSERT_EQ(client.cm.connect(*one, nullptr), 0);
  ASSERT_EQ(server.next(), RDMA_CM_EVENT_CONNECT_REQUEST);
  VirtualId* other = server.from;
  server.make_qp(*other);
  ASSERT_EQ(server.cm.accept(*other, nullptr), 0);
  ASSERT_EQ(client.next(), RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_EQ(server.next(), RDMA_CM_EVENT_ESTABLISHED);
  server.use(*other);
  expect_data(client, server, 1);
}

TEST_F(CmTest, aPeerWithoutAShadowHearsFromTheKernelThatItIsOver) {
  connect_both();
  exchange.lose_one_in(1, 1);  // nobody answers when it connects: so it is known as unshadowed
  static_cast<VirtualQp*>(client.id->qp)->alone = true;
  Move move(left, client.end.context);
  park(move, client);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
  exchange.lose_one_in(0, 1);
  restore(move, client);
}

TEST_F(CmTest, aSurpriseIsShownAsWhatItIs) {
  connect_both();
  kernel.remove_device(0);
  EXPECT_EQ(client.next(), RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmTest, whatIsLostOnTheWayIsSaidAgain) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    if (server.listener == nullptr) server.listen();
    const auto [one, other] = connect(client, server);
    client.use(*one);
    server.use(*other);
    exchange.lose_one_in(3, seed);
    kernel.migrations_to_fail = seed % 3;
    move_away_and_back(seed % 2 == 0 ? client : server);
    expect_silence();
    ASSERT_EQ(server.cm.disconnect(*server.id), 0);
    for (int i = 0; i < 200 && !(client.is_readable() && server.is_readable()); ++i) tend();
    EXPECT_EQ(client.next(), RDMA_CM_EVENT_DISCONNECTED) << "seed " << seed;
    EXPECT_EQ(server.next(), RDMA_CM_EVENT_DISCONNECTED) << "seed " << seed;
    exchange.lose_one_in(0, seed);
    for (Program* program : {&client, &server}) {
      program->destroy_qp(*program->id);
      EXPECT_EQ(program->cm.destroy_id(*program->id), 0);
      program->id = nullptr;
      program->end.poll();
    }
  }
}

TEST_F(CmTest, newConnectionsComeUpBesideThoseThatAreParked) {
  constexpr unsigned kEach = 64;
  Process third(fabric, exchange, "third", 3);
  Program elsewhere(kernel, 2, third);
  server.listen();
  elsewhere.listen();
  std::vector<std::pair<VirtualId*, VirtualId*>> parked;
  std::vector<std::pair<VirtualId*, VirtualId*>> fresh;
  for (unsigned i = 0; i < kEach; ++i) parked.push_back(connect(client, server));
  Move move(left, client.end.context);
  park(move, client);
  for (unsigned i = 0; i < kEach; ++i) fresh.push_back(connect(server, elsewhere));
  restore(move, client);
  std::vector<std::pair<VirtualId*, VirtualId*>> later;
  for (unsigned i = 0; i < kEach; ++i) later.push_back(connect(client, server));
  expect_silence();
  EXPECT_EQ(kernel.connections(0), kEach);
  for (const auto& [one, other] : parked) {
    EXPECT_EQ(one->qp->state, IBV_QPS_RTS);
    EXPECT_EQ(other->qp->state, IBV_QPS_RTS);
  }
  const auto destroy = [](Program& program, VirtualId* id) {
    program.destroy_qp(*id);
    EXPECT_EQ(program.cm.destroy_id(*id), 0);
  };
  for (const auto* all : {&parked, &later})
    for (const auto& [one, other] : *all) {
      destroy(client, one);
      destroy(server, other);
    }
  for (const auto& [one, other] : fresh) {
    destroy(server, one);
    destroy(elsewhere, other);
  }
}

}  // namespace
}  // namespace rdmove::shadow::test
