// The C API without any RDMA device: what it refuses, what it keeps, and how handles and loops end.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdmove.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "c_header.h"

namespace {

using ::testing::HasSubstr;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

struct Ends {
  std::atomic<int> count = 0;
  std::atomic<int> reason = -1;
  rdmove_range unsent{};
};

void channel_gone(rdmove_channel*, const rdmove_channel_end* end, void* user) {
  auto& ends = *static_cast<Ends*>(user);
  ends.reason = end->reason;
  ends.unsent = end->unsent;
  ++ends.count;
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    rdmove_loop_options options{};
    options.size = sizeof(options);
    options.agent_socket = "";
    ASSERT_EQ(rdmove_loop_create(&options, &loop), 0) << rdmove_error_message();
    callbacks.size = sizeof(callbacks);
    callbacks.gone = channel_gone;
    soon.size = sizeof(soon);
    soon.connection.size = sizeof(soon.connection);
    soon.connection.give_up_after_ms = 50;
  }
  void TearDown() override { rdmove_loop_destroy(loop); }

  int connect(const rdmove_channel_options* options) {
    return rdmove_channel_connect(loop, plain(peer), nullptr, options, &callbacks, &ends, &channel);
  }

  rdmove_loop* loop = nullptr;
  rdmove_channel* channel = nullptr;
  rdmove_channel_callbacks callbacks{};
  rdmove_channel_options soon{};
  Ends ends;
  const sockaddr_in peer = loopback(9);
};

TEST_F(CApi, says_what_is_missing) {
  EXPECT_EQ(rdmove_loop_create(nullptr, nullptr), -RDMOVE_EINVALID);
  EXPECT_THAT(rdmove_error_message(), HasSubstr("NULL"));
  EXPECT_EQ(rdmove_channel_connect(loop, nullptr, nullptr, nullptr, nullptr, nullptr, &channel),
            -RDMOVE_EINVALID);
  EXPECT_EQ(rdmove_listen(loop, plain(peer), RDMOVE_ADDRESS_MUST_EXIST, nullptr, nullptr, nullptr),
            -RDMOVE_EINVALID);
}

TEST_F(CApi, takes_structures_of_an_earlier_version) {
  rdmove_loop* other = nullptr;
  EXPECT_EQ(create_with_short_options(&other), 0) << rdmove_error_message();
  rdmove_loop_destroy(other);
}

TEST_F(CApi, a_channel_that_finds_no_way_ends_by_its_time) {
  ASSERT_EQ(connect(&soon), 0) << rdmove_error_message();
  EXPECT_EQ(rdmove_channel_state(channel), RDMOVE_CONNECTING);
  EXPECT_EQ(rdmove_channel_send(channel, "one", 3), -RDMOVE_EWOULDBLOCK)
      << "what the peer takes is not known yet";
  for (int turn = 0; turn < 100 && ends.count == 0; ++turn) {
    pollfd ready{rdmove_loop_fd(loop), POLLIN, 0};
    poll(&ready, 1, 1000);
    rdmove_loop_dispatch(loop);
  }
  EXPECT_EQ(ends.count, 1);
  EXPECT_EQ(ends.reason, RDMOVE_GONE_TIMED_OUT);
  EXPECT_LT(ends.unsent.last, ends.unsent.first);
  EXPECT_EQ(rdmove_channel_state(channel), RDMOVE_GONE);
  EXPECT_EQ(rdmove_channel_send(channel, "three", 5), -RDMOVE_EGONE);
  rdmove_channel_destroy(channel);
  EXPECT_EQ(ends.count, 1);
}

TEST_F(CApi, refuses_what_is_too_large_and_regions_that_are_not_there) {
  ASSERT_EQ(connect(nullptr), 0) << rdmove_error_message();
  const std::vector<char> huge(2U << 20U);
  EXPECT_EQ(rdmove_channel_send(channel, huge.data(), huge.size()), -RDMOVE_ETOOLARGE);
  EXPECT_STRNE(rdmove_error_message(), "");
  EXPECT_EQ(rdmove_channel_withdraw_region(channel, "none"), -RDMOVE_ENOREGION);
  EXPECT_EQ(rdmove_channel_peer_region(channel, "none"), -RDMOVE_ENOREGION);
  char memory[64];
  EXPECT_EQ(rdmove_channel_register_region(channel, "mine", memory, sizeof(memory), RDMOVE_REMOTE_WRITE), 0);
  EXPECT_EQ(rdmove_channel_register_region(channel, "mine", memory, sizeof(memory), RDMOVE_LOCAL),
            -RDMOVE_EEXISTS);
  rdmove_channel_destroy(channel);
  EXPECT_EQ(ends.reason, RDMOVE_GONE_CLOSED);
}

TEST_F(CApi, any_thread_may_call_once_the_loop_has_its_own) {
  ASSERT_EQ(rdmove_loop_start(loop), 0) << rdmove_error_message();
  EXPECT_EQ(rdmove_loop_dispatch(loop), -RDMOVE_EINVALID);
  ASSERT_EQ(connect(nullptr), 0) << rdmove_error_message();
  char memory[40];
  std::atomic<int> registered = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int region = 0; region < 10; ++region) {
        const auto name = "r" + std::to_string(10 * thread + region);
        registered += rdmove_channel_register_region(channel, name.c_str(), memory, 1, RDMOVE_LOCAL) == 0;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registered, 40);
  EXPECT_EQ(rdmove_channel_register_region(channel, "r17", memory, 1, RDMOVE_LOCAL), -RDMOVE_EEXISTS);
  EXPECT_EQ(rdmove_channel_send(channel, std::string(5000, 'x').data(), std::size_t{2} << 20U),
            -RDMOVE_ETOOLARGE);
  EXPECT_STRNE(rdmove_error_message(), "") << "the text follows the error to the calling thread";
  rdmove_channel_destroy(channel);
  EXPECT_EQ(ends.count, 1);
}

TEST_F(CApi, tells_of_a_channel_what_the_classes_tell) {
  ASSERT_EQ(connect(nullptr), 0) << rdmove_error_message();
  EXPECT_NE(rdmove_channel_id(channel), 0U);
  EXPECT_EQ(rdmove_channel_epoch(channel), 0U) << "no queue pair so far";
  sockaddr_storage address{};
  ASSERT_EQ(rdmove_channel_peer(channel, &address), 0);
  EXPECT_EQ(std::memcmp(&address, &peer, sizeof peer), 0);
  EXPECT_EQ(rdmove_channel_peer(channel, nullptr), -RDMOVE_EINVALID);
  EXPECT_EQ(rdmove_channel_local(channel, &address), 0);
  EXPECT_EQ(rdmove_channel_peer_private_data(channel, nullptr, 0), 0U);
  rdmove_channel_destroy(channel);
}

TEST_F(CApi, tells_of_a_connection_what_the_classes_tell) {
  rdmove_connection* connection = nullptr;
  ASSERT_EQ(rdmove_connect(loop, plain(peer), nullptr, nullptr, nullptr, nullptr, &connection), 0);
  EXPECT_NE(rdmove_connection_id(connection), 0U);
  EXPECT_EQ(rdmove_connection_epoch(connection), 0U);
  sockaddr_storage address{};
  ASSERT_EQ(rdmove_connection_peer(connection, &address), 0);
  EXPECT_EQ(std::memcmp(&address, &peer, sizeof peer), 0);
  EXPECT_EQ(rdmove_connection_local(connection, &address), 0);
  EXPECT_EQ(rdmove_connection_peer_private_data(connection, &address, sizeof address), 0U);
  rdmove_connection_destroy(connection);
}

TEST_F(CApi, a_channel_sends_no_more_at_once_than_its_send_limit) {
  rdmove_channel_options options{};
  options.size = sizeof options;
  options.message_limit = 4096;
  options.send_limit = 64;
  ASSERT_EQ(connect(&options), 0) << rdmove_error_message();
  const std::string message(65, 'x');
  EXPECT_EQ(rdmove_channel_send(channel, message.data(), message.size()), -RDMOVE_ETOOLARGE);
  EXPECT_EQ(rdmove_channel_send(channel, message.data(), 64), -RDMOVE_EWOULDBLOCK);
  rdmove_channel_destroy(channel);
  // As from a program that was built before there was one.
  options.size = offsetof(rdmove_channel_options, send_limit);
  ASSERT_EQ(connect(&options), 0) << rdmove_error_message();
  EXPECT_EQ(rdmove_channel_send(channel, message.data(), message.size()), -RDMOVE_EWOULDBLOCK);
  rdmove_channel_destroy(channel);
}

TEST_F(CApi, a_listener_that_waits_for_its_address_says_so) {
  sockaddr_in nowhere = loopback(7000);
  nowhere.sin_addr.s_addr = inet_addr("192.0.2.1");
  rdmove_listener* listener = nullptr;
  const auto requested = [](rdmove_request*, void*) {};
  ASSERT_EQ(rdmove_listen(loop, plain(nowhere), RDMOVE_ADDRESS_MAY_COME, requested, nullptr, &listener), 0);
  EXPECT_EQ(rdmove_listener_is_listening(listener), 0);
  rdmove_listener_destroy(listener);
}

TEST(CApiLoop, that_is_destroyed_first_leaves_handles_that_answer_gone) {
  rdmove_loop_options options{};
  options.size = sizeof(options);
  options.agent_socket = "";
  rdmove_loop* loop = nullptr;
  ASSERT_EQ(rdmove_loop_create(&options, &loop), 0);
  const auto peer = loopback(9);
  rdmove_channel* channel = nullptr;
  ASSERT_EQ(rdmove_channel_connect(loop, plain(peer), nullptr, nullptr, nullptr, nullptr, &channel), 0);
  rdmove_loop_destroy(loop);
  EXPECT_EQ(rdmove_channel_state(channel), RDMOVE_GONE);
  EXPECT_EQ(rdmove_channel_send(channel, "m", 1), -RDMOVE_EGONE);
  rdmove_channel_destroy(channel);
}

}  // namespace
