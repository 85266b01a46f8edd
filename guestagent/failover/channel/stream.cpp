#include "guestagent/failover/channel/stream.hpp"

#include <bit>
#include <utility>

namespace rdmove::failover::channel {

OperationStream::OperationStream(std::uint16_t slots)
    : slots_(slots),
      mask_(std::bit_ceil(2U * slots + 1U) - 1U),
      ring_(mask_ + 1),
      places_(mask_ + 1),
      one_sided_(slots) {}

void OperationStream::add_finish() {
  finish_ = sent_ + 1;
  add(OperationKind::Finish, finish_, 0);
}

void OperationStream::add_one_sided(OperationKind kind, std::uint32_t length, OneSided work) {
  places_[tail_ & mask_] = one_sided_tail_;
  one_sided_[one_sided_tail_++ % slots_] = std::move(work);
  add(kind, sent_, length);
}

OneSidedDone OperationStream::finish_one_sided(std::uint64_t index) {
  at(index).state = OperationState::Done;
  return std::exchange(one_sided_of(index).done, {});
}

OneSidedDone OperationStream::abandon_next() {
  OneSidedDone done = finish_one_sided(next_++);
  retire();
  return done;
}

void OperationStream::rewind() {
  for (std::uint64_t i = head_; i < next_; ++i) {
    Operation& operation = at(i);
    if (operation.is_frame() || operation.state == OperationState::Posted)
      operation.state = OperationState::Waiting;
  }
  next_ = head_;
  retire();
}

std::vector<OneSidedDone> OperationStream::settle_writes() {
  std::vector<OneSidedDone> settled;
  for (std::uint64_t i = head_; i < tail_; ++i) {
    const Operation& operation = at(i);
    if (operation.kind != OperationKind::Write || operation.state == OperationState::Done) continue;
    if (operation.number < acknowledged_) settled.push_back(finish_one_sided(i));
  }
  retire();
  return settled;
}

std::vector<OneSidedDone> OperationStream::abandon_all() {
  std::vector<OneSidedDone> left;
  for (std::uint64_t i = head_; i < tail_; ++i) {
    if (!at(i).is_frame() && at(i).state != OperationState::Done) left.push_back(finish_one_sided(i));
  }
  return left;
}

bool OperationStream::uses_region(RegionPlace place) const {
  for (std::uint64_t i = head_; i < tail_; ++i) {
    const Operation& operation = ring_[i & mask_];
    if (operation.is_frame() || operation.state == OperationState::Done) continue;
    if (one_sided_[places_[i & mask_] % slots_].local == place) return true;
  }
  return false;
}

}  // namespace rdmove::failover::channel
