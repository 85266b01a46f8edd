#include "guestagent/failover/connection/tests/two_machines.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(TwoMachines, connect_and_exchange) {
  ConnectionOptions options;
  options.private_data = {std::byte{1}, std::byte{2}};
  bring_up(options);
  expect_traffic();
  EXPECT_EQ(callee->connection->peer_private_data().size(), 2U);
  EXPECT_EQ(caller->connection->id(), callee->connection->id());
  EXPECT_EQ(caller->connection->local().text(), "10.0.0.1:0");
  EXPECT_EQ(callee->connection->local().text(), "10.0.0.2:7000");
  expect_order();
}

TEST_F(TwoMachines, what_arrives_before_an_acceptor_reads_established_is_not_the_last_that_it_hears_of) {
  fabric.keep_established = true;
  caller = &a->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  ASSERT_EQ(caller->connection->state(), ConnectionState::Up);
  callee = b->owners.front().get();
  EXPECT_TRUE(caller->send());
  run(milliseconds(50));
  EXPECT_EQ(callee->received, 0);
  for (const auto& tell : fabric.kept_established) tell();
  run(milliseconds(50));
  EXPECT_EQ(callee->received, 1);
  expect_traffic();
  expect_order();
}

TEST_F(TwoMachines, the_caller_comes_back_when_its_device_does) {
  bring_up();
  a->port.remove_device();
  run(milliseconds(500));
  EXPECT_EQ(caller->downs, std::vector{DownReason::DeviceRemoved});
  EXPECT_EQ(a->port.live_devices, 0U);
  EXPECT_GE(a->port.let_go_count, 1) << "librdmacm would keep the device";
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(100));
  EXPECT_EQ(caller->ups, 2);
  EXPECT_EQ(callee->ups, 2);
  EXPECT_GE(caller->connection->last_blackout(), milliseconds(500));
  expect_traffic();
  expect_order();
}

TEST_F(TwoMachines, the_acceptor_calls_when_it_is_the_one_that_moved) {
  bring_up();
  b->port.remove_device();
  run(milliseconds(500));
  b->port.add_device();
  b->hub.way_appeared();
  run(milliseconds(100));
  EXPECT_EQ(callee->ups, 2);
  EXPECT_EQ(caller->downs, std::vector{DownReason::Replaced}) << "it had noticed nothing";
  expect_traffic();
  expect_order();
}

TEST_F(TwoMachines, both_devices_leave_and_one_call_is_enough) {
  bring_up();
  a->port.remove_device();
  b->port.remove_device();
  run(milliseconds(100));
  a->port.add_device();
  b->port.add_device();
  a->hub.way_appeared();
  b->hub.way_appeared();
  run(seconds(5));
  EXPECT_EQ(caller->connection->state(), ConnectionState::Up);
  EXPECT_EQ(callee->connection->state(), ConnectionState::Up);
  EXPECT_EQ(caller->connection->epoch(), callee->connection->epoch());
  expect_traffic();
  expect_order();
}

TEST_F(TwoMachines, the_keepalive_notices_that_the_peer_is_away) {
  ConnectionOptions options;
  options.keepalive = milliseconds(1000);
  bring_up(options);
  b->port.remove_device();
  run(milliseconds(1500));
  EXPECT_EQ(caller->downs, std::vector{DownReason::Broken});
  expect_order();
}

TEST_F(TwoMachines, a_keepalive_is_nobody_elses_completion) {
  ConnectionOptions options;
  options.keepalive = milliseconds(100);
  bring_up(options);
  run(seconds(2));
  EXPECT_EQ(caller->sent, 0);
  EXPECT_EQ(callee->received, 0);
  EXPECT_TRUE(caller->downs.empty());
  expect_order();
}

TEST_F(TwoMachines, no_new_queue_pair_while_the_old_one_can_still_write) {
  bring_up();
  caller->connection->restart();
  for (int i = 0; i < 50; ++i) {  // the reaper is slow
    a->dispatch();
    b->dispatch();
    b->reaper.run_all();
    clock.advance(milliseconds(10));
  }
  EXPECT_EQ(caller->ups, 1);
  a->reaper.run_all();
  run(milliseconds(100));
  EXPECT_EQ(caller->ups, 2);
  expect_order();
}

TEST_F(TwoMachines, an_old_queue_pair_on_a_device_that_left_keeps_nobody_waiting) {
  bring_up();
  a->port.remove_device();
  a->dispatch();
  a->port.add_device();
  a->hub.way_appeared();
  for (int i = 0; i < 20; ++i) {  // the reaper hangs, as it may for 50 s
    a->dispatch();
    b->dispatch();
    b->reaper.run_all();
    clock.advance(milliseconds(10));
  }
  EXPECT_EQ(caller->ups, 2);
  run(milliseconds(100));
  expect_order();
}

TEST_F(TwoMachines, a_lost_answer_to_the_first_connect_is_mended) {
  fabric.lose_answers = 1;
  caller = &a->connect("10.0.0.2", 7000);
  run(seconds(6));
  EXPECT_EQ(caller->connection->state(), ConnectionState::Up);
  ASSERT_EQ(b->owners.size(), 1U) << "the application is asked once";
  EXPECT_EQ(b->owners.front()->connection->state(), ConnectionState::Up);
  expect_order();
}

TEST_F(TwoMachines, closing_inside_of_callbacks_is_fine) {
  struct Closer : Owner {
    void up(Connection&) override { connection.reset(); }
  } closer;
  closer.connection = connect_on(a->hub, *SocketAddress::parse("10.0.0.2", 7000), {}, closer, std::nullopt);
  run(milliseconds(300));
  ASSERT_TRUE(closer.end);
  EXPECT_EQ(closer.end->reason, GoneReason::Closed);
  run(seconds(6));
}

TEST_F(TwoMachines, memory_is_registered_anew_on_each_device) {
  bring_up();
  std::array<char, 64> memory{};
  auto region = caller->connection->register_memory(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_TRUE(region);
  const auto key = (*region)->local_key();
  EXPECT_NE(key, 0U);
  a->port.remove_device();
  run(milliseconds(100));
  EXPECT_EQ((*region)->local_key(), 0U);
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(100));
  EXPECT_NE((*region)->local_key(), 0U);
  EXPECT_NE((*region)->local_key(), key);
}

TEST_F(TwoMachines, the_keepalives_place_in_the_queue_is_not_the_owners) {
  ConnectionOptions options;
  options.queues.send_depth = 4;
  bring_up(options);
  int posted = 0;
  while (posted < 100 && caller->send()) ++posted;
  EXPECT_EQ(posted, 4);
}

TEST_F(TwoMachines, strangers_are_turned_away_each_with_its_word) {
  bring_up();
  struct Stranger : EndpointOwner {
    void cm_event(CmEvent& event) override {
      if (event.kind == CmEventKind::Rejected) answer = decode_refusal(event.private_data).value().why;
    }
    std::optional<RefusalCode> answer;
  };
  const auto call = [&](std::vector<std::byte> data) {
    Stranger stranger;
    auto endpoint = *a->hub.make_endpoint(stranger);
    EXPECT_TRUE(endpoint->resolve_address({}, *SocketAddress::parse("10.0.0.2", 7000), seconds(1)));
    run(milliseconds(20));
    EXPECT_TRUE(endpoint->connect({data, 6, 15, 4}));
    run(milliseconds(20));
    a->hub.retire(std::move(endpoint));
    return stranger.answer;
  };
  Hello hello;
  hello.kind = CallKind::Recall;
  hello.connection = callee->connection->id();
  hello.token = 1;
  hello.incarnation = a->hub.incarnation();
  hello.epoch = 9;
  EXPECT_EQ(call(encode(hello)), RefusalCode::WrongToken);
  hello.connection = 4711;
  EXPECT_EQ(call(encode(hello)), RefusalCode::Unknown);
  auto other_version = encode(hello);
  other_version[4] = std::byte{9};
  EXPECT_EQ(call(other_version), RefusalCode::Incompatible);
  EXPECT_EQ(call({std::byte{'x'}}), RefusalCode::Incompatible);
  hello.kind = CallKind::First;
  for (const std::uint32_t epoch : {0U, largest_epoch + 1}) {
    hello.epoch = epoch;
    EXPECT_EQ(call(encode(hello)), RefusalCode::StaleEpoch);
  }
  EXPECT_EQ(b->owners.size(), 1U) << "the application would have a connection that nobody makes";
  EXPECT_EQ(caller->connection->state(), ConnectionState::Up) << "none of them disturbs who is connected";
  expect_order();
}

// Other loops of the process may be on the same device: who holds it for nothing keeps it from leaving.
TEST_F(TwoMachines, a_device_is_held_while_something_is_there_and_no_longer) {
  EXPECT_TRUE(b->port.holds.empty());
  b->accepts = false;
  (void)a->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  EXPECT_TRUE(b->port.holds.empty()) << "the call was refused, and nothing would tell of a removal";
  b->accepts = true;
  (void)a->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  EXPECT_EQ(b->port.holds.size(), 1U);
  b->port.remove_device();
  run(milliseconds(100));
  EXPECT_TRUE(b->port.holds.empty());
  b->port.add_device();
  b->hub.way_appeared();
  run(seconds(5));
  EXPECT_EQ(b->port.holds.size(), 1U);
  EXPECT_EQ(b->port.holds.begin()->first, b->port.device);
  expect_order();
}

TEST_F(TwoMachines, many_come_back_at_once) {
  for (int i = 0; i < 64; ++i) (void)a->connect("10.0.0.2", 7000);
  run(milliseconds(300));
  a->port.remove_device();
  run(milliseconds(100));
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(60));
  for (const auto& owner : a->owners) EXPECT_EQ(owner->ups, 2);
  expect_order();
}

// Those that it has not come to yet would otherwise cross its calls, and both sides would do all twice.
TEST_F(TwoMachines, who_stayed_does_not_call_while_the_peer_comes_back_with_one_after_the_other) {
  bring_up();
  auto& late = a->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  a->port.remove_device();
  run(milliseconds(4500));  // b has noticed it for more than 3 s, and less than 4 s
  ASSERT_EQ(callee->connection->state(), ConnectionState::Down);
  fabric.lose_requests = 1;
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(200));
  ASSERT_NE(caller->ups, late.ups) << "one call was lost";
  run(milliseconds(3000));
  EXPECT_EQ(caller->ups, 2);
  EXPECT_EQ(late.ups, 2);
  EXPECT_EQ(b->port.calls, 0);
  expect_order();
}

TEST_F(TwoMachines, receives_beyond_the_depth_are_refused_until_there_are_completions) {
  ConnectionOptions options;
  options.queues.receive_depth = 9;  // of which the owner has posted 8
  bring_up(options);
  ibv_recv_wr request{};
  request.wr_id = 200;
  EXPECT_TRUE(caller->connection->post_receive(request));
  const auto refused = caller->connection->post_receive(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::WouldBlock);
  EXPECT_TRUE(callee->send());
  run(milliseconds(50));  // the owner has posted one again, for the one that has completed
  EXPECT_FALSE(caller->connection->post_receive(request));
  expect_order();
}

TEST_F(TwoMachines, the_time_of_a_sender_that_meets_no_receive_is_shortened_unless_it_meets_one_always) {
  const auto is_shortened = [&] {
    bool any = false;
    for (const auto& [number, endpoint] : fabric.endpoints)
      any = any || (&endpoint->port == &a->port && endpoint->has_short_rnr_timer);
    return any;
  };
  ConnectionOptions options;
  options.receives_come_first = true;
  bring_up(options);
  EXPECT_FALSE(is_shortened());
  a->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  EXPECT_TRUE(is_shortened());
}

TEST_F(TwoMachines, both_ends_may_be_on_one_loop) {
  auto& near = b->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  EXPECT_EQ(near.ups, 1);
  ASSERT_EQ(b->owners.size(), 2U);
  EXPECT_EQ(b->owners.back()->ups, 1);
  b->port.remove_device();
  run(milliseconds(100));
  b->port.add_device();
  b->hub.way_appeared();
  run(seconds(5));
  EXPECT_EQ(near.connection->state(), ConnectionState::Up);
  EXPECT_EQ(b->owners.back()->connection->state(), ConnectionState::Up);
  expect_order();
}

TEST_F(TwoMachines, a_report_counts_what_is_up_and_what_came_back) {
  bring_up();
  (void)a->connect("10.0.0.9", 7000);
  a->port.remove_device();
  run(milliseconds(300));
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(100));
  const auto report = a->hub.report();
  EXPECT_EQ(report.connections, 2U);
  EXPECT_EQ(report.up, 1U);
  EXPECT_EQ(report.failovers, 1U);
  EXPECT_GE(report.longest_blackout, milliseconds(300));
}

TEST_F(TwoMachines, a_report_counts_on_what_connections_have_done_that_have_ended) {
  bring_up();
  a->port.remove_device();
  run(milliseconds(300));
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(100));
  caller->connection->count_resent(5);
  const auto blackout = caller->connection->last_blackout();
  ASSERT_GE(blackout, milliseconds(300));
  caller->connection->close();
  auto report = a->hub.report();
  EXPECT_EQ(report.connections, 0U);
  EXPECT_EQ(report.failovers, 1U);
  EXPECT_EQ(report.resent, 5U);
  EXPECT_EQ(report.longest_blackout, blackout);
  auto& next = a->connect("10.0.0.2", 7000);
  run(milliseconds(200));
  EXPECT_EQ(a->hub.report().longest_blackout, blackout) << "the new one was never away";
  next.connection->restart();
  run(milliseconds(200));
  next.connection->count_resent(2);
  report = a->hub.report();
  EXPECT_EQ(report.resent, 7U);
  EXPECT_EQ(report.failovers, 2U);
  EXPECT_LT(report.longest_blackout, blackout) << "the last time was shorter";
}

TEST_F(TwoMachines, when_all_have_closed_only_listeners_and_canaries_are_left) {
  bring_up();
  a->owners.clear();
  b->owners.clear();
  run(milliseconds(100));
  EXPECT_EQ(a->live_endpoints(), 2U);
  EXPECT_EQ(b->live_endpoints(), 3U);
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
