// Hands updates from the loop to the gRPC thread that streams them. Bounded: a reader that does not read
// loses the oldest, never the last. Thread safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "coordinator/migration/bulletin.hpp"

namespace rdmove {

template <class T>
class BoundedQueue {
 public:
  void push(T update) {
    const std::lock_guard lock(mutex_);
    if (updates_.size() >= kMost) updates_.pop_front();
    updates_.push_back(std::move(update));
    filled_.notify_one();
  }
  /// nullopt after `patience`, so that the caller can look whether its client is still there.
  std::optional<T> pop(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (!filled_.wait_for(lock, patience, [this] { return !updates_.empty(); })) return std::nullopt;
    std::optional<T> update = std::move(updates_.front());
    updates_.pop_front();
    return update;
  }

 private:
  static constexpr std::size_t kMost = 256;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> updates_;
};

using UpdateQueue = BoundedQueue<Update>;

}  // namespace rdmove
