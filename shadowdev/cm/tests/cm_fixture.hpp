// Processes with a shadow each, connected through RDMA CM in memory, and what tests do with them.
#pragma once

#include <arpa/inet.h>
#include <poll.h>

#include <string>
#include <vector>

#include "shadowdev/cm/shadow_cm.hpp"
#include "shadowdev/cm/tests/fake_cm.hpp"
#include "shadowdev/device/tests/device_fixture.hpp"

namespace rdmove::shadow::test {

using fake::FakeCm;

inline constexpr std::uint16_t kPort = 7174;

/// A program of RDMA CM: its event channel, and verbs objects for one connection.
struct Program {
  Program(FakeCm& kernel, unsigned at, Process& in)
      : node(at),
        process(in),
        calls(FakeCm::calls(at)),
        cm(in.verbs, calls, std::chrono::milliseconds(0)),
        end(in.verbs, in.device) {
    kernel.nodes[at] = {&in.verbs, end.context, end.pd, end.gid, true};
    channel = static_cast<CmChannel*>(cm.create_channel());
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (end.qp == nullptr) end.qp = spare;
    for (VirtualId* one : {id, listener}) {
      if (one == nullptr) continue;
      cm.destroy_id(*one);
    }
    cm.tend();
    cm.destroy_channel(*channel);
  }

  [[nodiscard]] bool is_readable() const {
    pollfd one{channel->fd, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }
  /// The next event, acknowledged; its id, private data and status are kept.
  rdma_cm_event_type next() {
    rdma_cm_event* event = nullptr;
    EXPECT_TRUE(is_readable()) << "no event, and it would wait";
    if (!is_readable() || cm.get_event(*channel, &event) != 0) return RDMA_CM_EVENT_MULTICAST_ERROR;
    const auto type = event->event;
    status = event->status;
    from = cm.ours(event->id);
    EXPECT_NE(from, nullptr);
    EXPECT_TRUE(cm.acknowledge(event));
    return type;
  }
  VirtualId* make_id() {
    rdma_cm_id* made = nullptr;
    EXPECT_EQ(cm.create_id(channel, &made, this, RDMA_PS_TCP), 0);
    return cm.ours(made);
  }
  void listen(std::uint16_t port = kPort, bool anywhere = false) {
    listener = make_id();
    sockaddr_in address = FakeCm::address(node, port);
    if (anywhere) address.sin_addr.s_addr = 0;
    ASSERT_EQ(cm.bind_addr(*listener, reinterpret_cast<sockaddr*>(&address)), 0);
    ASSERT_EQ(cm.listen(*listener, 128), 0);
  }
  void resolve(VirtualId& which, unsigned to, std::uint16_t port = kPort) {
    sockaddr_in address = FakeCm::address(to, port);
    ASSERT_EQ(cm.resolve_addr(which, nullptr, reinterpret_cast<sockaddr*>(&address), 2000), 0);
    ASSERT_EQ(next(), RDMA_CM_EVENT_ADDR_RESOLVED);
    ASSERT_EQ(cm.resolve_route(which, 2000), 0);
    ASSERT_EQ(next(), RDMA_CM_EVENT_ROUTE_RESOLVED);
  }
  /// A QP of the id's own, on the end's CQ.
  void make_qp(VirtualId& which) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = end.cq;
    init.cap = {end.options.depth, end.options.depth, 2, 2, 64};
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    ASSERT_EQ(cm.forward(which, [&](rdma_cm_id* id_) { return calls.rdma_create_qp(id_, end.pd, &init); }),
              0);
  }
  void use(VirtualId& which) {
    id = &which;
    spare = end.qp;
    end.qp = which.qp;
  }
  void destroy_qp(VirtualId& which) {
    if (end.qp == which.qp) end.qp = spare;
    cm.destroy_qp(which);
  }

  unsigned node;
  Process& process;
  CmCalls calls;
  ShadowCm cm;
  End end;
  CmChannel* channel = nullptr;
  VirtualId* id = nullptr;
  VirtualId* listener = nullptr;
  ibv_qp* spare = nullptr;
  VirtualId* from = nullptr;
  int status = 0;
};

struct CmTest : DeviceTest {
  ~CmTest() override {
    for (Program* one : {&client, &server})
      if (one->id != nullptr && one->id->qp != nullptr) one->destroy_qp(*one->id);
  }
  /// An id of `a` that one of `b`, which listens, has accepted; `b` has not read that it is established.
  static std::pair<VirtualId*, VirtualId*> accepted(Program& a, Program& b, std::uint16_t port = kPort) {
    VirtualId* one = a.make_id();
    a.resolve(*one, b.node, port);
    a.make_qp(*one);
    EXPECT_EQ(a.cm.connect(*one, nullptr), 0);
    EXPECT_EQ(b.next(), RDMA_CM_EVENT_CONNECT_REQUEST);
    VirtualId* other = b.from;
    b.make_qp(*other);
    EXPECT_EQ(b.cm.accept(*other, nullptr), 0);
    EXPECT_EQ(a.next(), RDMA_CM_EVENT_ESTABLISHED);
    return {one, other};
  }
  /// The same, and all events are read.
  static std::pair<VirtualId*, VirtualId*> connect(Program& a, Program& b, std::uint16_t port = kPort) {
    const auto both = accepted(a, b, port);
    EXPECT_EQ(b.next(), RDMA_CM_EVENT_ESTABLISHED);
    return both;
  }
  /// Calls a move off, and lets both programs see what comes of it.
  void roll_back(Move& move) {
    move.roll_back();
    for (int i = 0; i < 50; ++i) {
      fabric.step();
      tend();
    }
  }
  void connect_both() {
    server.listen();
    const auto [one, other] = connect(client, server);
    client.use(*one);
    server.use(*other);
  }
  void tend() {
    client.cm.tend();
    server.cm.tend();
  }
  void step(Move& move) {
    move.step();
    fabric.step();
    tend();
  }
  void park(Move& move, Program& which) {
    for (unsigned i = 0; i < 5000 && move.at() != Move::At::Away; ++i) step(move);
    ASSERT_EQ(move.at(), Move::At::Away) << move.word;
    kernel.remove_device(which.node);
  }
  void restore(Move& move, Program& which) {
    kernel.add_device(which.node);
    for (unsigned i = 0; i < 5000 && !move.over(); ++i) step(move);
    ASSERT_EQ(move.at(), Move::At::Done) << move.word;
    EXPECT_TRUE(which.cm.come_back());
  }
  void move_away_and_back(Program& which) {
    Move move(which.process, which.end.context);
    park(move, which);
    restore(move, which);
  }
  void expect_data(Program& a, Program& b, std::uint64_t number) {
    ASSERT_EQ(b.end.receive(number, 0, 64), 0);
    ASSERT_EQ(a.end.send(IBV_WR_SEND, number, 64, 64, IBV_SEND_SIGNALED), 0);
    fabric.run();
    EXPECT_THAT(brief(a.end.poll()), testing::ElementsAre(good(number)));
    EXPECT_THAT(brief(b.end.poll()), testing::ElementsAre(good(number)));
  }
  void expect_silence() {
    EXPECT_FALSE(client.is_readable());
    EXPECT_FALSE(server.is_readable());
  }

  FakeCm kernel;
  Program client{kernel, 0, left};
  Program server{kernel, 1, right};
};

}  // namespace rdmove::shadow::test
