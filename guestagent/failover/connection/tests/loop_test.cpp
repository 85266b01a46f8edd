#include "rdmove/loop.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "guestagent/failover/connection/loop_core.hpp"
#include "rdmove/connection.hpp"

namespace rdmove::failover {
namespace {

LoopOptions without_agent() {
  LoopOptions options;
  options.agent_socket.clear();
  return options;
}

bool is_readable(const Loop& loop, int wait_ms) {
  pollfd file{loop.fd(), POLLIN, 0};
  return poll(&file, 1, wait_ms) > 0;
}

TEST(Loop, its_file_is_readable_when_there_is_work_and_not_after) {
  auto loop = *Loop::create(without_agent());
  EXPECT_FALSE(is_readable(*loop, 0));
  bool ran = false;
  loop->post([&] { ran = true; });
  EXPECT_TRUE(is_readable(*loop, 1000));
  EXPECT_FALSE(ran) << "nothing runs outside of dispatch()";
  loop->dispatch();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(is_readable(*loop, 0));
}

TEST(Loop, its_file_becomes_readable_when_a_timer_is_due) {
  auto loop = *Loop::create(without_agent());
  bool ran = false;
  auto& core = loop->core();
  (void)core.timers().at(core.clock().now(), [&] { ran = true; });
  EXPECT_TRUE(is_readable(*loop, 1000));
  loop->dispatch();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(is_readable(*loop, 0));
}

TEST(Loop, calls_from_other_threads_run_on_its_own) {
  auto loop = *Loop::create(without_agent());
  ASSERT_TRUE(loop->start_thread());
  EXPECT_FALSE(loop->in_loop());
  EXPECT_FALSE(loop->start_thread()) << "it has one";
  std::thread::id there;
  bool inside = false;
  loop->call([&] {
    there = std::this_thread::get_id();
    inside = loop->in_loop();
    loop->call([&] { inside = inside && std::this_thread::get_id() == there; });
  });
  EXPECT_TRUE(inside);
  EXPECT_NE(there, std::this_thread::get_id());
}

TEST(Loop, keeps_the_order_of_what_is_posted_and_loses_nothing) {
  auto loop = *Loop::create(without_agent());
  ASSERT_TRUE(loop->start_thread());
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) loop->post([&order, i] { order.push_back(i); });
  loop->call([] {});
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Loop, run_ends_with_stop_even_if_that_came_first) {
  auto loop = *Loop::create(without_agent());
  loop->stop();
  loop->run();
  std::thread other([&] { loop->stop(); });
  loop->run();
  other.join();
}

TEST(Loop, two_in_a_process_share_nothing) {
  auto one = *Loop::create(without_agent());
  auto two = *Loop::create(without_agent());
  EXPECT_NE(one->fd(), two->fd());
  ASSERT_TRUE(one->start_thread());
  ASSERT_TRUE(two->start_thread());
  bool right = false;
  one->call([&] { two->call([&] { right = two->in_loop() && !one->in_loop(); }); });
  EXPECT_TRUE(right);
}

TEST(Loop, works_without_any_rdma_device_and_says_so_to_a_listener) {
  auto loop = *Loop::create(without_agent());
  struct Nobody : ListenerHandler {
    void requested(ConnectionRequest&) override {}
  } nobody;
  const auto address = *SocketAddress::parse("192.0.2.1", 7000);  // on no machine
  const auto strict = Listener::listen(*loop, address, nobody);
  ASSERT_FALSE(strict);
  EXPECT_TRUE(strict.error().code == ErrorCode::NoDevice ||
              strict.error().code == ErrorCode::AddressNotAvailable);
  const auto patient = Listener::listen(*loop, address, nobody, AddressPolicy::MayCome);
  ASSERT_TRUE(patient);
  EXPECT_FALSE((*patient)->is_listening());
}

TEST(Loop, connections_outlive_it_silently) {
  struct Counter : ConnectionHandler {
    int told = 0;
    void up(Connection&) override { ++told; }
    void down(Connection&, DownReason) override { ++told; }
    void gone(Connection&, const Gone&) override { ++told; }
    void completed(Connection&, const ibv_wc&) override { ++told; }
  } counter;
  auto loop = *Loop::create(without_agent());
  auto connection = *Connection::connect(*loop, *SocketAddress::parse("192.0.2.1", 7000), {}, counter);
  loop.reset();
  EXPECT_EQ(connection->state(), ConnectionState::Gone);
  connection.reset();
  EXPECT_EQ(counter.told, 0);
}

TEST(Connection, refuses_what_makes_no_sense) {
  auto loop = *Loop::create(without_agent());
  struct Nobody : ConnectionHandler {
    void up(Connection&) override {}
    void down(Connection&, DownReason) override {}
    void gone(Connection&, const Gone&) override {}
    void completed(Connection&, const ibv_wc&) override {}
  } nobody;
  const auto v4 = *SocketAddress::parse("192.0.2.1", 7000);
  ConnectionOptions options;
  options.private_data.resize(17);
  EXPECT_EQ(Connection::connect(*loop, v4, options, nobody).error().code, ErrorCode::TooLarge);
  EXPECT_FALSE(Connection::connect(*loop, v4.with_port(0), {}, nobody));
  EXPECT_FALSE(Connection::connect(*loop, v4, {}, nobody, SocketAddress::parse("fd00::1", 0).value()));
}

}  // namespace
}  // namespace rdmove::failover
