#include "guestagent/failover/connection/cm/completion_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <map>

namespace rdmove::failover::conn {
namespace {

/// Completion queues in memory, as a device would fill them.
class Queues {
 public:
  CompletionPool::Maker maker() {
    return {[this](std::uint32_t depth, void* context) { return make(depth, context); },
            [this](ibv_cq* queue) { made.erase(queue); }};
  }

  void complete(ibv_cq* queue, std::uint32_t queue_pair, std::uint64_t id) {
    ibv_wc completion{};
    completion.qp_num = queue_pair;
    completion.wr_id = id;
    auto& one = *made.at(queue);
    one.completions.push_back(completion);
    EXPECT_LE(one.completions.size(), static_cast<std::size_t>(queue->cqe)) << "overrun";
    if (std::exchange(one.is_armed, false)) events.push_back(queue->cq_context);
  }

  struct One {
    ibv_context context{};
    ibv_cq cq{};
    std::deque<ibv_wc> completions;
    bool is_armed = false;
  };
  std::map<ibv_cq*, std::unique_ptr<One>> made;
  std::deque<void*> events;
  std::vector<std::uint32_t> depths;
  std::uint32_t refused_above = 1U << 30U;

 private:
  ibv_cq* make(std::uint32_t depth, void* context) {
    if (depth > refused_above) return errno = ENOMEM, nullptr;
    depths.push_back(depth);
    auto one = std::make_unique<One>();
    one->context.ops.poll_cq = &poll;
    one->context.ops.req_notify_cq = &arm;
    one->context.abi_compat = one.get();
    one->cq.context = &one->context;
    one->cq.cq_context = context;
    one->cq.cqe = static_cast<int>(depth);
    auto* const queue = &one->cq;
    made.emplace(queue, std::move(one));
    return queue;
  }
  static One& of(ibv_cq* queue) { return *static_cast<One*>(queue->context->abi_compat); }
  static int poll(ibv_cq* queue, int count, ibv_wc* completions) {
    int taken = 0;
    for (auto& waiting = of(queue).completions; taken < count && !waiting.empty(); ++taken) {
      completions[taken] = waiting.front();
      waiting.pop_front();
    }
    return taken;
  }
  static int arm(ibv_cq* queue, int) {
    of(queue).is_armed = true;
    return 0;
  }
};

class CompletionPoolTest : public testing::Test {
 protected:
  std::shared_ptr<CompletionPool::Seat> seat(std::uint64_t owner, std::uint32_t queue_pair,
                                             std::uint32_t depth = 10) {
    auto made = pool.reserve(EndpointNumber{owner}, depth);
    EXPECT_TRUE(made);
    pool.enrol(*made, queue_pair);
    return *made;
  }
  std::vector<std::uint64_t> take(CompletionPool::Seat& seat, std::size_t at_most = 32) {
    std::array<ibv_wc, 64> completions{};
    const int count = pool.poll(seat, std::span(completions).first(at_most));
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < count; ++i) ids.push_back(completions.at(static_cast<std::size_t>(i)).wr_id);
    return ids;
  }
  /// What a device's events name, as the loop takes them.
  std::vector<std::uint64_t> named() {
    std::vector<std::uint64_t> names;
    for (;;) {
      if (const auto ready = pool.next_ready(); ready != EndpointNumber::none) {
        names.push_back(static_cast<std::uint64_t>(ready));
        continue;
      }
      if (queues.events.empty()) return names;
      pool.take_event(queues.events.front());
      queues.events.pop_front();
    }
  }
  using Ids = std::vector<std::uint64_t>;

  Queues queues;
  CompletionPool pool{queues.maker(), 64};
};

TEST_F(CompletionPoolTest, each_gets_its_own_completions_in_their_order) {
  const auto one = seat(1, 101);
  const auto other = seat(2, 102);
  ASSERT_EQ(one->queue(), other->queue());
  for (std::uint64_t id = 0; id < 6; ++id) queues.complete(one->queue(), id % 2 == 0 ? 101 : 102, id);
  EXPECT_EQ(take(*other), (Ids{1, 3, 5}));
  EXPECT_EQ(take(*one, 2), (Ids{0, 2}));
  queues.complete(one->queue(), 101, 6);
  EXPECT_EQ(take(*one), (Ids{4, 6}));
  EXPECT_EQ(take(*one), Ids{});
}

TEST_F(CompletionPoolTest, one_event_names_all_that_have_something_and_asks_for_the_next) {
  const auto one = seat(1, 101);
  const auto two = seat(2, 102);
  const auto three = seat(3, 103);
  queues.complete(one->queue(), 103, 0);
  queues.complete(one->queue(), 101, 0);
  queues.complete(one->queue(), 103, 1);
  EXPECT_EQ(queues.events.size(), 1U);
  EXPECT_EQ(named(), (Ids{3, 1}));
  EXPECT_EQ(named(), Ids{}) << "once, although nobody has looked yet";
  queues.complete(one->queue(), 103, 2);
  EXPECT_EQ(named(), (Ids{3}));
  EXPECT_EQ(take(*three), (Ids{0, 1, 2}));
}

// The other one's event comes when the queue is empty already.
TEST_F(CompletionPoolTest, what_one_finds_for_another_is_not_forgotten) {
  const auto one = seat(1, 101);
  const auto other = seat(2, 102);
  queues.complete(one->queue(), 102, 7);
  EXPECT_EQ(take(*one), Ids{});
  EXPECT_EQ(named(), (Ids{2}));
  EXPECT_EQ(take(*other), (Ids{7}));
}

TEST_F(CompletionPoolTest, who_has_looked_by_itself_is_not_named) {
  const auto one = seat(1, 101);
  queues.complete(one->queue(), 101, 7);
  EXPECT_EQ(take(*one), (Ids{7}));
  EXPECT_EQ(named(), Ids{});
}

TEST_F(CompletionPoolTest, a_number_that_is_used_again_brings_nothing_of_the_old_one) {
  auto old = seat(1, 101);
  auto* const queue = old->queue();
  queues.complete(queue, 101, 1);
  pool.leave(std::move(old));
  const auto present = seat(2, 101);
  ASSERT_EQ(present->queue(), queue);
  queues.complete(queue, 101, 2);
  EXPECT_EQ(take(*present), (Ids{2}));
}

// The kernel may give the number away before whoever destroyed the old one gets to say so.
TEST_F(CompletionPoolTest, nor_when_the_old_one_has_not_said_yet_that_it_left) {
  auto old = seat(1, 101);
  queues.complete(old->queue(), 101, 1);
  const auto present = seat(2, 101);
  queues.complete(present->queue(), 101, 2);
  EXPECT_EQ(take(*present), (Ids{2}));
  pool.leave(std::move(old));
  const auto third = seat(3, 103);  // takes the old one's name off, and not the present one's
  queues.complete(present->queue(), 101, 3);
  EXPECT_EQ(take(*present), (Ids{3}));
}

TEST_F(CompletionPoolTest, completions_of_one_that_has_left_reach_nobody) {
  auto old = seat(1, 101);
  auto* const queue = old->queue();
  pool.leave(std::move(old));
  const auto other = seat(2, 102);
  queues.complete(queue, 101, 1);
  queues.complete(queue, 102, 2);
  EXPECT_EQ(named(), (Ids{2}));
  EXPECT_EQ(take(*other), (Ids{2}));
}

// Their completions are in the queue until somebody looks, and more would overrun it.
TEST_F(CompletionPoolTest, the_room_of_who_left_is_free_when_its_completions_are_out) {
  std::vector<std::shared_ptr<CompletionPool::Seat>> seats;
  for (std::uint32_t i = 0; i < 4; ++i) seats.push_back(seat(i + 1, 101 + i));
  auto* const queue = seats[0]->queue();
  for (std::uint64_t id = 0; id < 40; ++id) queues.complete(queue, 101, id);
  for (auto& one : seats) pool.leave(std::move(one));
  for (std::uint32_t i = 0; i < 4; ++i) seats[i] = seat(i + 11, 201 + i);
  EXPECT_EQ(queues.made.size(), 1U) << "nothing new had to be made";
  for (std::uint64_t id = 0; id < 40; ++id) queues.complete(queue, 201 + id % 4, id);
}

TEST_F(CompletionPoolTest, queues_have_room_for_all_and_grow_up_to_the_device_s_limit) {
  std::vector<std::shared_ptr<CompletionPool::Seat>> seats;
  std::map<ibv_cq*, std::uint32_t> taken;
  for (std::uint32_t i = 0; i < 16; ++i) {
    seats.push_back(seat(i + 1, 101 + i));
    taken[seats.back()->queue()] += 10;
  }
  EXPECT_EQ(queues.depths, (std::vector<std::uint32_t>{40, 64, 64}));
  for (const auto& [queue, depth] : taken) EXPECT_LE(depth, static_cast<std::uint32_t>(queue->cqe));
}

TEST_F(CompletionPoolTest, one_that_is_larger_than_all_has_its_own) {
  const auto small = seat(1, 101, 1);
  const auto large = seat(2, 102, 100);
  EXPECT_NE(small->queue(), large->queue());
  EXPECT_EQ(large->queue()->cqe, 100);
}

TEST_F(CompletionPoolTest, a_device_that_makes_no_large_ones_makes_small_ones) {
  queues.refused_above = 10;
  const auto one = seat(1, 101);
  const auto other = seat(2, 102);
  EXPECT_EQ(queues.depths, (std::vector<std::uint32_t>{10, 10}));
  queues.refused_above = 0;
  const auto refused = pool.reserve(EndpointNumber{3}, 10);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("ibv_create_cq"), std::string::npos);
}

TEST_F(CompletionPoolTest, an_error_of_a_queue_is_everybody_s_on_it) {
  const auto one = seat(1, 101, 20);
  const auto two = seat(2, 102, 20);
  const auto three = seat(3, 103, 50);
  auto owners = pool.owners_on(one->queue());
  std::sort(owners.begin(), owners.end());
  EXPECT_EQ(owners, (std::vector{EndpointNumber{1}, EndpointNumber{2}}));
  EXPECT_EQ(pool.owners_on(three->queue()), std::vector{EndpointNumber{3}});
}

TEST_F(CompletionPoolTest, all_queues_go_with_the_pool) {
  {
    CompletionPool short_lived(queues.maker(), 64);
    const auto seat = short_lived.reserve(EndpointNumber{1}, 10);
    EXPECT_EQ(queues.made.size(), 1U);
  }
  EXPECT_TRUE(queues.made.empty());
}

}  // namespace
}  // namespace rdmove::failover::conn
