#include "guestagent/failover/connection/reaper_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "guestagent/failover/connection/tests/fake_world.hpp"

namespace rdmove::failover::conn {
namespace {

/// What the reaper posts, as a loop would take it.
class Inbox {
 public:
  void add(Reaper::Done done) {
    const std::lock_guard lock(mutex_);
    done();
    ++count_;
    changed_.notify_all();
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

/// Nothing but its end: each does that on whatever thread it is told to.
class EndOnly : public Endpoint {
 public:
  explicit EndOnly(std::function<void()> end) : end_(std::move(end)) {}
  ~EndOnly() override { end_(); }
  EndOnly(const EndOnly&) = delete;
  EndOnly& operator=(const EndOnly&) = delete;
  [[nodiscard]] EndpointNumber number() const override { return {}; }
  [[nodiscard]] DeviceNumber device() const override { return {}; }
  [[nodiscard]] SocketAddress local() const override { return {}; }
  [[nodiscard]] SocketAddress peer() const override { return {}; }
  Result<void> bind(const SocketAddress&) override { return {}; }
  Result<void> listen(int) override { return {}; }
  Result<void> resolve_address(const std::optional<SocketAddress>&, const SocketAddress&,
                               Milliseconds) override {
    return {};
  }
  Result<void> resolve_route(Milliseconds) override { return {}; }
  Result<void> connect(const CallWords&) override { return {}; }
  Result<void> accept(const CallWords&) override { return {}; }
  void reject(std::span<const std::byte>) override {}
  void disconnect() override {}
  Result<void> make_queue(const std::shared_ptr<Device>&, const QueueShape&) override { return {}; }
  [[nodiscard]] ibv_qp* queue_pair() const override { return nullptr; }
  Result<ibv_mr*> register_memory(void*, std::size_t, int) override { return nullptr; }
  void deregister(ibv_mr*) override {}
  Result<ibv_mr*> use_memory(const std::shared_ptr<MemoryPiece>&) override { return nullptr; }
  void shorten_rnr_timer() override {}
  int poll(std::span<ibv_wc>) override { return 0; }
  Result<void> post_send(ibv_send_wr&) override { return {}; }
  Result<void> post_receive(ibv_recv_wr&) override { return {}; }

 private:
  std::function<void()> end_;
};

/// Says when it is closed.
class Closing : public Device {
 public:
  explicit Closing(std::vector<std::string>& order) : order_(order) {}
  ~Closing() override { order_.emplace_back("device"); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  [[nodiscard]] int completion_fd() const override { return -1; }
  [[nodiscard]] int async_fd() const override { return -1; }
  [[nodiscard]] ibv_pd* protection_domain() const override { return nullptr; }
  std::optional<EndpointNumber> take_completion_event() override { return {}; }
  std::optional<AsyncEvent> take_async_event() override { return {}; }

 private:
  std::vector<std::string>& order_;
};

TEST(ReaperThread, some_that_block_do_not_hold_up_the_rest) {
  fake::Fabric fabric;
  const auto port = std::make_shared<fake::FakePort>(fabric, "10.0.0.1");
  Inbox inbox;
  std::promise<void> unblock;
  const auto until = unblock.get_future().share();
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int i = 0; i < 3; ++i) endpoints.push_back(std::make_unique<EndOnly>([until] { until.wait(); }));
  ReaperThread reaper(port, [&](auto done) { inbox.add(std::move(done)); });
  std::atomic<int> blocked{0};
  for (auto& endpoint : endpoints) reaper.destroy(std::move(endpoint), [&] { ++blocked; });
  std::vector<std::string> order;
  reaper.close(std::make_shared<Closing>(order), {}, [] {});
  EXPECT_TRUE(inbox.wait_for(1)) << "devices are closed by another thread";
  EXPECT_EQ(blocked, 0);
  reaper.destroy(std::make_unique<EndOnly>([] {}), [] {});
  EXPECT_TRUE(inbox.wait_for(2)) << "a helper more for each that blocks";
  EXPECT_EQ(blocked, 0);
  unblock.set_value();
  EXPECT_TRUE(inbox.wait_for(5));
  EXPECT_EQ(blocked, 3);
}

TEST(ReaperThread, a_device_is_closed_before_the_ids_that_keep_its_context) {
  fake::Fabric fabric;
  const auto port = std::make_shared<fake::FakePort>(fabric, "10.0.0.1");
  Inbox inbox;
  std::vector<std::string> order;
  ReaperThread reaper(port, [&](auto done) { inbox.add(std::move(done)); });
  std::vector<std::unique_ptr<Endpoint>> pins;
  pins.push_back(std::make_unique<EndOnly>([&order] { order.emplace_back("pin"); }));
  reaper.close(std::make_shared<Closing>(order), std::move(pins), [] {});
  EXPECT_TRUE(inbox.wait_for(1));
  EXPECT_EQ(order, (std::vector<std::string>{"device", "pin"}));
}

}  // namespace
}  // namespace rdmove::failover::conn
