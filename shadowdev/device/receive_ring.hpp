// What was posted to a receive queue last, in the order in which the device took it: ring and device are
// under one lock (two threads that append outside the provider's lock get another order than the queue has).
// Nothing is noted when a receive is consumed; how many are left is learned when the queue is flushed, and
// since a queue is consumed in order, it is the last ones. Under its queue's receive lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shadowdev/device/work.hpp"

namespace rdmove::shadow {

class ReceiveRing {
 public:
  /// `depth`: how many the queue can hold; no more can be outstanding.
  void set_depth(std::size_t depth) {
    slots_.resize(depth);
    clear();
  }
  void clear() {
    posted_ = 0;
    consumed_ = 0;
  }
  void add(const ibv_recv_wr& wr) {
    ReceiveWork& slot = slots_[posted_++ % slots_.size()];
    slot.wr_id = wr.wr_id;
    slot.list.assign(wr.sg_list, wr.sg_list + (wr.num_sge > 0 ? wr.num_sge : 0));
  }
  /// The last `left`, oldest first.
  [[nodiscard]] std::vector<ReceiveWork> last(std::size_t left) const {
    std::vector<ReceiveWork> rest;
    left = std::min(left, static_cast<std::size_t>(std::min<std::uint64_t>(posted_, slots_.size())));
    for (std::uint64_t i = posted_ - left; i < posted_; ++i) rest.push_back(slots_[i % slots_.size()]);
    return rest;
  }

  /// Where completions are looked at anyway (after a move), they are counted too.
  void consume() { consumed_ += consumed_ < posted_ ? 1 : 0; }
  /// The one that is consumed next, or null.
  [[nodiscard]] const ReceiveWork* next() const {
    return consumed_ < posted_ ? &slots_[consumed_ % slots_.size()] : nullptr;
  }
  [[nodiscard]] std::size_t counted() const { return static_cast<std::size_t>(posted_ - consumed_); }

 private:
  std::vector<ReceiveWork> slots_;
  std::uint64_t posted_ = 0;
  std::uint64_t consumed_ = 0;
};

}  // namespace rdmove::shadow
