// Credits: who may send how many frames on this link, so that no send ever finds the receiver without a
// receive posted. Two pure counters per end; docs/channel-protocol.md proves that they cannot lock each
// other. Both start anew with every link.
#pragma once

#include <cstdint>

namespace rdmove::failover::channel {

/// Credit that only acknowledgements and grants may use. Fewer than 4 would need a grant for each single
/// control frame, and two paused ends would answer each other's grants for ever.
inline constexpr std::uint64_t kControlReserve = 4;

/// What the peer lets us send.
class SendCredit {
 public:
  /// `credit`: 1 before the peer's first frame, which is the Hello.
  void start() { sent_ = 0, credit_ = 1; }
  /// False: it shrinks, or it is more than the peer can have slots for.
  [[nodiscard]] bool granted(std::uint64_t credit, std::uint64_t peer_slots) {
    if (credit < credit_ || credit > sent_ + peer_slots) return false;
    credit_ = credit;
    return true;
  }
  void sent() { ++sent_; }
  [[nodiscard]] bool for_hello() const { return sent_ < credit_; }
  [[nodiscard]] bool for_data() const { return left() > kControlReserve; }
  [[nodiscard]] bool for_acknowledgement() const { return left() >= 2; }
  [[nodiscard]] bool for_grant() const { return left() >= 1; }
  [[nodiscard]] std::uint64_t left() const { return credit_ - sent_; }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t credit_ = 0;
};

/// What we let the peer send.
class ReceiveCredit {
 public:
  void start() { posted_ = arrived_ = advertised_ = 0; }
  void posted() { ++posted_; }
  void arrived() { ++arrived_; }
  [[nodiscard]] std::uint64_t advertise() { return advertised_ = posted_; }
  /// Half of what is free has not been advertised yet. What is held for a paused application is not free.
  [[nodiscard]] bool is_grant_due() const {
    const std::uint64_t news = posted_ - advertised_;
    return news >= 2 && 2 * news >= posted_ - arrived_;
  }
  [[nodiscard]] std::uint64_t free() const { return posted_ - arrived_; }

 private:
  std::uint64_t posted_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t advertised_ = 0;
};

}  // namespace rdmove::failover::channel
