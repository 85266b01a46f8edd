#include "stream.hpp"

#include <bit>
#include <utility>

namespace rdmove::failover::channel {

OperationStream::OperationStream(std::uint16_t slots)
    : slots_(slots),
      mask_(std::bit_ceil(2U * slots + 1U) - 1U),
      ring_(mask_ + 1),
      places_(mask_ + 1),
      one_sided_(slots) {}

Operation& OperationStream::add(OperationKind kind, std::uint64_t number, std::uint32_t length) {
  Operation& operation = at(tail_++);
  operation = {number, length, kind, OperationState::Waiting, false};
  return operation;
}

std::uint64_t OperationStream::add_message(std::uint32_t length) {
  add(OperationKind::Message, ++sent_, length);
  return sent_;
}

void OperationStream::add_finish() {
  finish_ = sent_ + 1;
  add(OperationKind::Finish, finish_, 0);
}

void OperationStream::add_one_sided(OperationKind kind, std::uint32_t length, OneSided work) {
  places_[tail_ & mask_] = one_sided_tail_;
  one_sided_[one_sided_tail_++ % slots_] = std::move(work);
  add(kind, sent_, length);
}

Operation* OperationStream::next() {
  while (next_ < tail_) {
    Operation& operation = at(next_);
    const bool is_over =
        operation.is_frame() ? operation.number <= acknowledged_ : operation.state == OperationState::Done;
    if (!is_over) return &operation;
    ++next_;
  }
  return nullptr;
}

Token OperationStream::posted() {
  Operation& operation = at(next_);
  if (operation.is_frame()) {
    if (operation.number > posted_) posted_ = operation.number;
    if (operation.was_posted && operation.kind == OperationKind::Message) ++resent_;
  }
  operation.was_posted = true;
  operation.state = OperationState::Posted;
  return Token{next_++};
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

OperationStream::Completion OperationStream::completed(Token token) {
  const auto index = static_cast<std::uint64_t>(token);
  if (index < head_ || index >= next_ || at(index).state != OperationState::Posted) return {};
  Completion completion{true, {}};
  if (at(index).is_frame()) {
    at(index).state = OperationState::Done;  // sent; it stays for as long as it is not acknowledged
  } else {
    completion.done = finish_one_sided(index);
  }
  retire();
  return completion;
}

bool OperationStream::acknowledge(std::uint64_t number) {
  if (number < acknowledged_ || number > posted_) return false;
  if (number == acknowledged_) return true;
  acknowledged_ = number;
  retire();
  return true;
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

// A slot is free only when its frame is acknowledged *and* the device has let go of it: the acknowledgement
// can come before the send's completion.
void OperationStream::retire() {
  while (head_ < tail_) {
    const Operation& operation = at(head_);
    if (operation.is_frame()) {
      if (operation.number > acknowledged_ || operation.state == OperationState::Posted) break;
      if (operation.kind == OperationKind::Message) retired_ = operation.number;
    } else {
      if (operation.state != OperationState::Done) break;
      ++one_sided_head_;
    }
    ++head_;
  }
  if (next_ < head_) next_ = head_;
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
