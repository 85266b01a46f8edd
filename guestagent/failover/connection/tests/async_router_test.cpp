#include "guestagent/failover/connection/cm/async_router.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <map>

#include "guestagent/failover/connection/tests/fake_world.hpp"

namespace rdmove::failover::conn {
namespace {

using Event = AsyncRouter::Event;

/// A context whose events the kernel has, and gives to whoever reads first.
struct Source {
  Source() { context.async_fd = file.fd; }
  void raise(const Event& event) {
    events.push_back(event);
    file.set();
  }
  fake::EventFile file;
  ibv_context context{};
  std::deque<Event> events;
};

class Router : public testing::Test {
 protected:
  std::unique_ptr<AsyncRouter::Inbox> subscribe(Source& source) {
    sources[&source.context] = &source;
    auto inbox = router.subscribe(&source.context);
    EXPECT_TRUE(inbox);
    return std::move(*inbox);
  }
  static bool is_readable(const AsyncRouter::Inbox& inbox) {
    pollfd file{inbox.fd(), POLLIN, 0};
    return poll(&file, 1, 0) == 1;
  }
  static std::vector<Event> all_of(AsyncRouter::Inbox& inbox) {
    std::vector<Event> all;
    while (const auto event = inbox.take()) all.push_back(*event);
    return all;
  }

  std::map<ibv_context*, Source*> sources;
  AsyncRouter router{[this](ibv_context* context) -> std::optional<Event> {
    auto& source = *sources.at(context);
    if (source.events.empty()) return source.file.clear(), std::nullopt;
    const Event first = source.events.front();
    source.events.pop_front();
    return first;
  }};
};

const Event fatal{IBV_EVENT_DEVICE_FATAL, EndpointNumber::none, nullptr};
const Event queue_pair{IBV_EVENT_QP_FATAL, EndpointNumber{7}, nullptr};

TEST_F(Router, every_loop_on_a_device_gets_what_the_first_one_reads) {
  Source device;
  const auto one = subscribe(device);
  const auto two = subscribe(device);
  EXPECT_FALSE(is_readable(*one));
  device.raise(queue_pair);
  device.raise(fatal);
  EXPECT_TRUE(is_readable(*one));
  EXPECT_TRUE(is_readable(*two));
  EXPECT_EQ(all_of(*one), (std::vector{queue_pair, fatal}));
  EXPECT_FALSE(is_readable(*one));
  EXPECT_TRUE(is_readable(*two)) << "the kernel has nothing any more, and this one has not heard it";
  EXPECT_EQ(all_of(*two), (std::vector{queue_pair, fatal}));
  EXPECT_FALSE(is_readable(*two));
}

TEST_F(Router, a_device_is_not_anothers) {
  Source device;
  Source other;
  const auto one = subscribe(device);
  const auto two = subscribe(other);
  device.raise(fatal);
  EXPECT_TRUE(all_of(*two).empty());
  EXPECT_EQ(all_of(*one), std::vector{fatal});
}

TEST_F(Router, who_has_left_is_not_written_to) {
  Source device;
  const auto one = subscribe(device);
  auto two = subscribe(device);
  two.reset();
  device.raise(fatal);
  EXPECT_EQ(all_of(*one), std::vector{fatal});
}

}  // namespace
}  // namespace rdmove::failover::conn
