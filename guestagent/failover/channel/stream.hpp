// What this side has to do, in order: messages, one-sided operations and the goodbye, from the moment they
// are accepted until nobody will ask about them again. After a failover it is rewound, and what is not known
// to be done goes again. Pure bookkeeping: it posts nothing. Memory is fixed at construction.
#pragma once

#include <cstdint>
#include <vector>

#include "frame.hpp"
#include "link.hpp"
#include "rdmove/channel.hpp"

namespace rdmove::failover::channel {

enum class OperationKind : std::uint8_t { Message, Finish, Write, Read };
enum class OperationState : std::uint8_t { Waiting, Posted, Done };

struct Operation {
  std::uint64_t number = 0;  ///< the message's; of a one-sided one: of the last message before it
  std::uint32_t length = 0;
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
  std::uint64_t add_message(std::uint32_t length);
  void add_finish();
  void add_one_sided(OperationKind kind, std::uint32_t length, OneSided work);

  /// The send slot of a message or of the goodbye: `slots` + 1 of them.
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t number) const {
    return static_cast<std::uint32_t>(number % (slots_ + 1U));
  }

  // Posting.
  /// The next to post, skipping what needs no second time; null if there is none.
  [[nodiscard]] Operation* next();
  [[nodiscard]] OneSided& next_one_sided() { return one_sided_of(next_); }
  /// next() was posted.
  Token posted();
  /// next() cannot be done: it is over.
  OneSidedDone abandon_next();

  /// A completion. Returns what to call if it was a one-sided operation's. `known` is false for a token that
  /// is not out.
  struct Completion {
    bool known = false;
    OneSidedDone done;
  };
  Completion completed(Token token);

  /// All up to `number` are delivered. False: that was never posted, or less than before.
  [[nodiscard]] bool acknowledge(std::uint64_t number);

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
  Operation& add(OperationKind kind, std::uint64_t number, std::uint32_t length);
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
  std::uint64_t one_sided_head_ = 0;
  std::uint64_t one_sided_tail_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t finish_ = 0;  // the goodbye's number
  std::uint64_t posted_ = 0;  // highest number that ever went
  std::uint64_t acknowledged_ = 0;
  std::uint64_t retired_ = 0;
  std::uint64_t resent_ = 0;
};

}  // namespace rdmove::failover::channel
