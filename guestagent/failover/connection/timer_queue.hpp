// What is to be done later, in order of time. Owned by the loop; its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "guestagent/failover/connection/clock.hpp"

namespace rdmove::failover::conn {

class TimerQueue {
 public:
  using Work = std::function<void()>;

  /// Called when next() has become earlier.
  explicit TimerQueue(std::function<void()> on_earlier = {}) : on_earlier_(std::move(on_earlier)) {}
  ~TimerQueue() { *self_ = nullptr; }
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  class Key {
   public:
    Key() = default;
    [[nodiscard]] bool is_set() const { return number_ != 0; }

   private:
    friend class TimerQueue;
    Time at_{};
    std::uint64_t number_ = 0;
  };

  [[nodiscard]] Key at(Time time, Work work);
  void cancel(Key& key);  ///< also of one that has run: nothing happens
  [[nodiscard]] std::optional<Time> next() const;
  void run_due(Time now);  ///< what these add for now or earlier runs the next time

 private:
  friend class Timer;
  const std::shared_ptr<TimerQueue*> self_ = std::make_shared<TimerQueue*>(this);  // null once it has ended
  std::function<void()> on_earlier_;
  std::map<std::pair<Time, std::uint64_t>, Work> work_;
  std::uint64_t last_number_ = 0;
};

/// One timer that belongs to an object: set again it forgets the earlier time, and it ends with its owner.
/// When the queue has ended before, it can be set and never comes.
class Timer {
 public:
  explicit Timer(TimerQueue& queue) : queue_(queue.self_) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(Time time, TimerQueue::Work work) {
    cancel();
    if (*queue_) key_ = (*queue_)->at(time, std::move(work));
  }
  void cancel() {
    if (*queue_) (*queue_)->cancel(key_);
  }

 private:
  const std::shared_ptr<TimerQueue*> queue_;
  TimerQueue::Key key_;
};

}  // namespace rdmove::failover::conn
