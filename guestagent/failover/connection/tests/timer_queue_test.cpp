#include "guestagent/failover/connection/timer_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace rdmove::failover::conn {
namespace {

constexpr Time start{std::chrono::hours(1)};
Time after(int ms) {
  return start + Milliseconds(ms);
}

TEST(TimerQueue, runs_in_order_of_time_what_is_due) {
  TimerQueue timers;
  std::vector<int> ran;
  for (const int ms : {30, 10, 20}) (void)timers.at(after(ms), [&ran, ms] { ran.push_back(ms); });
  timers.run_due(after(20));
  EXPECT_EQ(ran, (std::vector{10, 20}));
  EXPECT_EQ(timers.next(), after(30));
}

TEST(TimerQueue, work_may_cancel_other_work_and_add_new) {
  TimerQueue timers;
  int ran = 0;
  TimerQueue::Key second;
  (void)timers.at(after(1), [&] {
    timers.cancel(second);
    (void)timers.at(after(1), [&] { ran += 10; });
  });
  second = timers.at(after(2), [&] { ran += 1; });
  timers.run_due(after(5));
  EXPECT_EQ(ran, 0) << "what work adds runs the next time";
  timers.run_due(after(5));
  EXPECT_EQ(ran, 10);
}

TEST(TimerQueue, tells_when_the_next_time_is_earlier) {
  int earlier = 0;
  TimerQueue timers([&] { ++earlier; });
  (void)timers.at(after(20), [] {});
  (void)timers.at(after(30), [] {});
  (void)timers.at(after(10), [] {});
  EXPECT_EQ(earlier, 2);
}

TEST(Timer, ends_with_its_owner_and_may_be_set_again_by_itself) {
  TimerQueue timers;
  int ran = 0;
  auto timer = std::make_unique<Timer>(timers);
  timer->set(after(1), [&] {
    ++ran;
    timer->set(after(2), [&] { ++ran; });
  });
  timers.run_due(after(1));
  timer.reset();
  timers.run_due(after(9));
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace rdmove::failover::conn
