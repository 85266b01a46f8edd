#include "guestagent/failover/connection/cm/context_registry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace rdmove::failover::conn {
namespace {

class Contexts : public testing::Test {
 protected:
  ContextRegistry::Calls calls() {
    return {[this] {
              ++looks;
              threads.insert(std::this_thread::get_id());
              return others_are_there;
            },
            [this] {
              ++meetings;
              threads.insert(std::this_thread::get_id());
            },
            [this] { return listing; }, [this](const ibv_context* context) { replaced.push_back(context); }};
  }

  bool others_are_there = false;
  int looks = 0;
  int meetings = 0;
  std::uint64_t listing = 1;
  std::set<std::thread::id> threads;
  std::vector<const ibv_context*> replaced;
  ibv_context device{};
  ibv_context other{};
  ContextRegistry contexts{calls()};
};

TEST_F(Contexts, a_loop_that_is_the_first_to_let_go_leaves_the_device_to_the_other) {
  contexts.hold(&device);
  contexts.hold(&device);
  contexts.let_go(&device);
  EXPECT_TRUE(replaced.empty()) << "the other loop's queue pairs are there";
  contexts.let_go(&device);
  EXPECT_EQ(replaced, std::vector<const ibv_context*>{&device});
}

TEST_F(Contexts, the_last_one_lets_go_even_if_it_ends_without_having_heard_that_the_device_left) {
  contexts.hold(&device);
  contexts.hold(&device);
  contexts.let_go(&device);
  contexts.release(&device);
  EXPECT_EQ(replaced, std::vector<const ibv_context*>{&device});
}

TEST_F(Contexts, a_device_that_has_not_left_is_left_alone) {
  contexts.hold(&device);
  contexts.hold(&other);
  contexts.release(&device);
  EXPECT_TRUE(replaced.empty());
  EXPECT_EQ(looks, 0);
  contexts.let_go(&other);
  EXPECT_EQ(replaced, std::vector<const ibv_context*>{&other});
}

TEST_F(Contexts, librdmacm_closes_by_itself_when_another_device_is_there) {
  others_are_there = true;
  contexts.hold(&device);
  contexts.let_go(&device);
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(replaced.empty());
}

TEST_F(Contexts, a_context_at_the_same_address_begins_anew) {
  contexts.hold(&device);
  contexts.let_go(&device);
  contexts.hold(&device);
  contexts.release(&device);
  EXPECT_EQ(replaced.size(), 1U);
}

TEST_F(Contexts, devices_are_met_when_they_have_changed_and_only_then) {
  (void)contexts.meet_devices();
  (void)contexts.meet_devices();
  EXPECT_EQ(meetings, 1);
  listing = 2;
  (void)contexts.meet_devices();
  EXPECT_EQ(meetings, 2);
}

TEST_F(Contexts, all_looking_is_done_on_one_thread_whoever_asks) {
  for (int loop = 0; loop < 3; ++loop) {
    std::thread([&] {
      contexts.hold(&device);
      ++listing;
      (void)contexts.meet_devices();
      contexts.look();
      contexts.let_go(&device);
    }).join();
  }
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace rdmove::failover::conn
