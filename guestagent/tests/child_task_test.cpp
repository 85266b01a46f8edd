#include "guestagent/agent/child_task.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>

#include "guestagent/agent/asio_timers.hpp"

namespace rdmove::agent {
namespace {

int result_of(const std::function<int()>& work) {
  boost::asio::io_context io(1);
  std::optional<int> result;
  EXPECT_TRUE(run_in_child(io, work, [&](int error) { result = error; }));
  EXPECT_FALSE(result) << "never within the call";
  io.run();
  return result.value_or(-1);
}

TEST(ChildTask, reports_the_result) {
  EXPECT_EQ(result_of([] { return 0; }), 0);
  EXPECT_EQ(result_of([] { return EBUSY; }), EBUSY);
  EXPECT_EQ(result_of([]() -> int { throw std::runtime_error("x"); }), ECHILD);
  EXPECT_EQ(result_of([]() -> int { ::_exit(255); }), ECHILD);
}

// One that is stuck in the kernel must not keep the port or the sockets of a restarted agent.
TEST(ChildTask, has_none_of_our_descriptors) {
  EXPECT_EQ(result_of([] { return ::fcntl(0, F_GETFD) == -1 || ::fcntl(3, F_GETFD) == -1 ? 0 : 1; }), 0);
}

TEST(AsioTimers, call_in_order_and_not_when_destroyed) {
  boost::asio::io_context io(1);
  AsioTimers timers(io);
  std::string order;
  auto second = timers.after(milliseconds(2), [&] { order += "2"; });
  std::unique_ptr<Timer> self;
  self = timers.after(milliseconds(1), [&] {
    self.reset();  // a timer may end itself
    order += "1";
  });
  auto never = timers.after(milliseconds(1), [&] { order += "x"; });
  never.reset();
  io.run();
  EXPECT_EQ(order, "12");
}

}  // namespace
}  // namespace rdmove::agent
