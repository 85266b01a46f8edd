// Peers that answer with what they should not, kernels that still know the old connection, and addresses that
// come late: each ends, or goes on, with its word.
#include "guestagent/failover/connection/tests/two_machines.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class BadPeer : public TwoMachines, public EndpointOwner, public FirstCallTaker {
 protected:
  /// Somebody listens at b's port 7001 who answers as `answer` does.
  void listen() {
    endpoint = *b->hub.make_endpoint(*this);
    ASSERT_TRUE(endpoint->bind(*SocketAddress::parse("0.0.0.0", 7001)));
    ASSERT_TRUE(endpoint->listen(1));
    b->hub.listen_for_first_calls(endpoint->number(), *this);
  }
  void TearDown() override {
    if (!endpoint) return;
    b->hub.stop_first_calls(endpoint->number());
    b->hub.retire(std::move(endpoint));
    for (auto& call : calls) b->hub.retire(std::move(call));
  }
  void cm_event(CmEvent&) override {}
  void first_call(CmEvent& event, const Hello& hello) override {
    answer(*event.incoming, hello);
    calls.push_back(std::move(event.incoming));
  }

  std::function<void(Endpoint&, Hello)> answer;
  std::unique_ptr<Endpoint> endpoint;
  std::vector<std::unique_ptr<Endpoint>> calls;
};

TEST_F(BadPeer, that_answers_for_another_connection_is_the_wrong_one) {
  listen();
  const std::vector<std::function<void(Hello&)>> lies = {[](Hello& hello) { ++hello.connection; },
                                                         [](Hello& hello) { ++hello.epoch; },
                                                         [](Hello& hello) { hello.kind = CallKind::Recall; }};
  for (const auto& lie : lies) {
    answer = [&](Endpoint& incoming, Hello hello) {
      lie(hello);
      EXPECT_TRUE(incoming.accept({encode(hello), 6, 15, 4}));
    };
    auto& deceived = a->connect("10.0.0.2", 7001);
    run(milliseconds(200));
    ASSERT_TRUE(deceived.end);
    EXPECT_EQ(deceived.end->reason, GoneReason::WrongPeer);
    EXPECT_EQ(deceived.ups, 0);
  }
  expect_order();
}

TEST_F(BadPeer, that_knows_the_connection_by_another_token_is_the_wrong_one) {
  listen();
  answer = [](Endpoint& incoming, const Hello&) {
    incoming.reject(encode(Refusal{RefusalCode::WrongToken, 4711}));
  };
  auto& refused = a->connect("10.0.0.2", 7001);
  run(milliseconds(200));
  ASSERT_TRUE(refused.end);
  EXPECT_EQ(refused.end->reason, GoneReason::WrongPeer);
}

TEST_F(BadPeer, a_call_that_was_heard_before_is_of_the_past_though_its_token_is_right) {
  bring_up();
  const auto heard = fabric.last_request;
  struct Replayer : EndpointOwner {
    void cm_event(CmEvent& event) override {
      if (event.kind == CmEventKind::Rejected) answer = decode_refusal(event.private_data).value().why;
    }
    std::optional<RefusalCode> answer;
  } replayer;
  auto call = *a->hub.make_endpoint(replayer);
  ASSERT_TRUE(call->resolve_address({}, *SocketAddress::parse("10.0.0.2", 7000), seconds(1)));
  run(milliseconds(20));
  ASSERT_TRUE(call->connect({heard, 6, 15, 4}));
  run(milliseconds(20));
  a->hub.retire(std::move(call));
  EXPECT_EQ(replayer.answer, RefusalCode::StaleEpoch);
  EXPECT_TRUE(callee->downs.empty());
  expect_traffic();
  expect_order();
}

TEST_F(BadPeer, a_kernel_that_knows_the_old_connection_is_asked_again_at_once) {
  bring_up();
  fabric.reject_stale = 3;
  const int before = a->port.calls;
  caller->connection->restart();
  run(milliseconds(0));  // no time passes between these calls
  EXPECT_EQ(a->port.calls, before + 4);
  EXPECT_EQ(fabric.reject_stale, 0);
  run(milliseconds(20));
  EXPECT_EQ(caller->ups, 2);
  expect_order();
}

TEST_F(BadPeer, a_listener_whose_address_comes_later_listens_then) {
  b->port.remove_device();
  struct Taker : ListenerHandler {
    void requested(ConnectionRequest& request) override {
      ++asked;
      request.reject();
    }
    int asked = 0;
  } taker;
  const auto listener =
      std::make_shared<ListenerCore>(b->hub, *SocketAddress::parse("10.0.0.2", 7005), taker);
  const auto failed = listener->listen();
  ASSERT_FALSE(failed);
  EXPECT_TRUE(is_no_way(failed.error().code));
  listener->keep_trying();
  run(seconds(1));
  EXPECT_FALSE(listener->is_listening());
  b->port.add_device();
  run(milliseconds(200));  // nothing tells of an RDMA device on an address: it looks by itself
  EXPECT_TRUE(listener->is_listening());
  (void)a->connect("10.0.0.2", 7005);
  run(milliseconds(200));
  EXPECT_EQ(taker.asked, 1);
  listener->close();
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
