// Virtual time: what happens next, in order of time and then of when it was put down. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "coordinator/simulation/random.hpp"

namespace rdmove::simulation {

class Agenda {
 public:
  Duration now() const { return now_; }
  void after(Duration time, std::function<void()> what) { at(now_ + time, std::move(what)); }
  void at(Duration time, std::function<void()> what) {
    entries_.push({std::max(time, now_), ++last_, std::move(what)});
  }
  /// Goes to the next entry's time and does it. False when there is none.
  bool step() {
    if (entries_.empty()) return false;
    Entry next = std::move(const_cast<Entry&>(entries_.top()));
    entries_.pop();
    now_ = next.time;
    next.what();
    return true;
  }

 private:
  struct Entry {
    Duration time;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  Duration now_{0};
  std::uint64_t last_ = 0;
  std::priority_queue<Entry> entries_;
};

}  // namespace rdmove::simulation
