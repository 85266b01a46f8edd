// What this side has to do, in order: messages, one-sided operations and the goodbye, from the moment they
// are accepted until nobody will ask about them again. After a failover it is rewound, and what is not known
// to be done goes again. Pure bookkeeping: it posts nothing. Memory is fixed at construction.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "guestagent/failover/channel/frame.hpp"
#include "guestagent/failover/channel/link.hpp"
#include "rdmove/channel.hpp"

namespace rdmove::failover::channel {

enum class OperationKind : std::uint8_t { Message, Finish, Write, Read };
enum class OperationState : std::uint8_t { Waiting, Posted, Done };

struct Operation {
  std::uint64_t number = 0;  ///< the message's; of a one-sided one: of the last message before it
  std::uint32_t length = 0;
  std::uint32_t slot = 0;  ///< of a frame
  OperationKind kind = OperationKind::Message;
  OperationState state = OperationState::Waiting;
  bool was_posted = false;  ///< on this link or an earlier one
  [[nodiscard]] bool is_frame() const {
    return kind == OperationKind::Message || kind == OperationKind::Finish;
  }
};

struct OneSided {
  RegionPlace local{};
  std::size_t local_offset = 0;
  RegionName remote;
  std::size_t remote_offset = 0;
  OneSidedDone done;
};

class OperationStream {
 public:
  explicit OperationStream(std::uint16_t slots);

  // Accepting. At most `slots` messages and as many one-sided operations; the goodbye has a place of its own.
  [[nodiscard]] bool has_message_room() const { return sent_ - retired_ < slots_; }
  [[nodiscard]] bool has_one_sided_room() const { return one_sided_tail_ - one_sided_head_ < slots_; }
  const Operation& add_message(std::uint32_t length) { return add(OperationKind::Message, ++sent_, length); }
  void add_finish();
  void add_one_sided(OperationKind kind, std::uint32_t length, OneSided work);

  // Posting.
  /// The next to post, skipping what needs no second time; null if there is none.
  [[nodiscard]] Operation* next();
  [[nodiscard]] bool is_anything_waiting() const { return next_ < tail_; }
  [[nodiscard]] OneSided& next_one_sided() { return one_sided_of(next_); }
  /// next() was posted.
  Token posted();
  /// next() cannot be done: it is over.
  OneSidedDone abandon_next();

  enum class Completed { Unknown, Frame, OneSided };
  /// A completion; Unknown for a token that is not out.
  Completed completed(Token token);
  /// What to call for a token that was OneSided, right after completed().
  OneSidedDone take_done(Token token) {
    return std::exchange(one_sided_of(static_cast<std::uint64_t>(token)).done, {});
  }

  /// All up to `number` are delivered. False: that was never posted, or less than before.
  [[nodiscard]] bool acknowledge(std::uint64_t number);

  /// Posted on this link, and not known to be done.
  [[nodiscard]] bool is_anything_out() const { return head_ < next_; }

  /// The link is gone: what was posted waits again.
  void rewind();
  /// After a link's end, with acknowledge() up to date: the writes that are done because a later message was
  /// delivered.
  std::vector<OneSidedDone> settle_writes();
  /// For good: all one-sided operations that are left.
  std::vector<OneSidedDone> abandon_all();

  [[nodiscard]] std::uint64_t sent() const { return sent_; }  ///< messages accepted
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_ < sent_ ? acknowledged_ : sent_; }
  [[nodiscard]] std::uint64_t posted_messages() const { return posted_ < sent_ ? posted_ : sent_; }
  [[nodiscard]] std::uint64_t resent() const { return resent_; }
  [[nodiscard]] bool is_finish_acknowledged() const { return finish_ != 0 && acknowledged_ >= finish_; }
  [[nodiscard]] bool has_finish() const { return finish_ != 0; }
  [[nodiscard]] bool uses_region(RegionPlace place) const;

 private:
  [[nodiscard]] Operation& at(std::uint64_t index) { return ring_[index & mask_]; }
  [[nodiscard]] OneSided& one_sided_of(std::uint64_t index) {
    return one_sided_[places_[index & mask_] % slots_];
  }
  Operation& add(OperationKind kind, std::uint64_t number, std::uint32_t length) {
    Operation& operation = at(tail_++);
    operation = {number, length, next_slot_, kind, OperationState::Waiting, false};
    // One more slot than messages: the goodbye's.
    if (operation.is_frame()) next_slot_ = next_slot_ == slots_ ? 0 : next_slot_ + 1;
    return operation;
  }
  OneSidedDone finish_one_sided(std::uint64_t index);
  void retire();

  std::uint32_t slots_;
  std::uint64_t mask_;
  std::vector<Operation> ring_;
  std::vector<std::uint64_t> places_;  // of the ring's one-sided operations in one_sided_
  std::vector<OneSided> one_sided_;
  std::uint64_t head_ = 0;  // [head_, next_) posted or done, [next_, tail_) to be posted
  std::uint64_t next_ = 0;
  std::uint64_t tail_ = 0;
  std::uint32_t next_slot_ = 0;
  std::uint64_t one_sided_head_ = 0;
  std::uint64_t one_sided_tail_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t finish_ = 0;  // the goodbye's number
  std::uint64_t posted_ = 0;  // highest number that ever went
  std::uint64_t acknowledged_ = 0;
  std::uint64_t retired_ = 0;
  std::uint64_t resent_ = 0;
};

// What runs for every message.

inline Operation* OperationStream::next() {
  while (next_ < tail_) {
    Operation& operation = at(next_);
    const bool is_over =
        operation.is_frame() ? operation.number <= acknowledged_ : operation.state == OperationState::Done;
    if (!is_over) return &operation;
    ++next_;
  }
  return nullptr;
}

inline Token OperationStream::posted() {
  Operation& operation = at(next_);
  if (operation.is_frame()) {
    if (operation.number > posted_) posted_ = operation.number;
    if (operation.was_posted && operation.kind == OperationKind::Message) ++resent_;
  }
  operation.was_posted = true;
  operation.state = OperationState::Posted;
  return Token{next_++};
}

inline OperationStream::Completed OperationStream::completed(Token token) {
  const auto index = static_cast<std::uint64_t>(token);
  if (index < head_ || index >= next_ || at(index).state != OperationState::Posted) return Completed::Unknown;
  at(index).state = OperationState::Done;  // a frame stays for as long as it is not acknowledged
  const bool is_frame = at(index).is_frame();
  retire();
  return is_frame ? Completed::Frame : Completed::OneSided;
}

inline bool OperationStream::acknowledge(std::uint64_t number) {
  if (number < acknowledged_ || number > posted_) return false;
  if (number == acknowledged_) return true;
  acknowledged_ = number;
  retire();
  return true;
}

// A slot is free only when its frame is acknowledged *and* the device has let go of it: the acknowledgement
// can come before the send's completion.
inline void OperationStream::retire() {
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

}  // namespace rdmove::failover::channel
