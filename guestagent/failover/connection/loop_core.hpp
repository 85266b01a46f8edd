// The loop's inside: files, timers, the agent's line, and the hub of connections. Owned by Loop; its thread,
// but for what loop.hpp says of post(), call(), stop() and in_loop().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "guestagent/failover/connection/address_watch.hpp"
#include "guestagent/failover/connection/agent_line.hpp"
#include "guestagent/failover/connection/hub.hpp"
#include "guestagent/failover/connection/mailbox.hpp"
#include "guestagent/failover/connection/quiesce_round.hpp"
#include "guestagent/failover/connection/random.hpp"
#include "guestagent/failover/connection/reaper_thread.hpp"
#include "rdmove/loop.hpp"

namespace rdmove::failover {

class LoopCore : public conn::AgentListener {
 public:
  explicit LoopCore(const LoopOptions& options);
  ~LoopCore() override;
  LoopCore(const LoopCore&) = delete;
  LoopCore& operator=(const LoopCore&) = delete;

  Result<void> open();
  [[nodiscard]] int fd() const { return poller_.fd(); }
  void dispatch(int timeout_ms);
  void run();
  void stop();
  Result<void> start_thread();
  void end_thread();
  void post(std::function<void()> work) { mailbox_.post(std::move(work)); }
  void call(const std::function<void()>& work);
  [[nodiscard]] bool in_loop() const { return thread_id_ == std::this_thread::get_id(); }

  // For connections, listeners, channels.
  conn::Hub& hub() { return *hub_; }
  conn::TimerQueue& timers() { return timers_; }
  [[nodiscard]] const conn::Clock& clock() const { return clock_; }
  [[nodiscard]] conn::Time came_back() const { return came_back_; }
  conn::AgentLine& agent() { return *agent_; }

 private:
  void asked_to_quiesce(conn::Milliseconds time) override;
  void device_unplugged() override {}
  void device_is_back() override;
  void agent_lost() override;
  void agent_found() override { report_soon(); }
  void report_soon();
  void report();
  void end_round();
  void set_alarm();
  void take_alarm();

  const LoopOptions options_;
  conn::SteadyClock clock_;
  conn::SeededRandom random_;
  conn::Poller poller_;
  conn::Mailbox mailbox_;
  conn::TimerQueue timers_;
  conn::AddressWatch addresses_;
  std::shared_ptr<conn::RdmaPort> port_;
  std::unique_ptr<conn::ReaperThread> reaper_;
  std::unique_ptr<conn::Hub> hub_;
  std::unique_ptr<conn::AgentLine> agent_;
  std::unique_ptr<conn::QuiesceRound> round_;
  conn::Poller::Watch mailbox_watch_ = conn::Poller::Watch::none;
  conn::Poller::Watch alarm_watch_ = conn::Poller::Watch::none;
  conn::Poller::Watch address_watch_ = conn::Poller::Watch::none;
  conn::Timer let_go_timer_;
  conn::Timer report_timer_;
  bool report_is_due_ = false;
  conn::Time came_back_{};
  int alarm_ = -1;  // a timerfd
  std::optional<conn::Time> alarm_at_;
  bool dispatching_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<std::thread::id> thread_id_;
  std::thread thread_;
};

}  // namespace rdmove::failover
