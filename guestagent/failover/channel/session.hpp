// The protocol of one channel: exactly once and in order over links that come and go
// (docs/channel-protocol.md). Pure: it reaches the world only through link.hpp. One thread; it may be called
// from inside its observer's callbacks, but must outlive them.
//
//   Down --opened--> Opened --link_up + Hello both ways--> Exchanging --the peer's regions are told--> Ready
//    any --link_down--> Down       any --the peer breaks a rule--> Broken (until link_down)
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "guestagent/failover/channel/credit.hpp"
#include "guestagent/failover/channel/link.hpp"
#include "guestagent/failover/channel/regions.hpp"
#include "guestagent/failover/channel/slab.hpp"
#include "guestagent/failover/channel/stream.hpp"

namespace rdmove::failover::channel {

struct SessionOptions {
  std::uint32_t message_limit = 4096;
  std::uint32_t send_limit = 4096;
  std::uint16_t send_slots = 64;
  std::uint16_t receive_slots = 64;
  std::uint32_t send_depth = 64;  ///< work requests that the link takes at once, at least 8
  std::chrono::milliseconds ack_delay{
      5};  ///< the longest that a delivered message waits for its acknowledgement
  std::chrono::milliseconds greeting_limit{10'000};
  int violations_limit = 4;  ///< rules that a peer may break before the session fails
};

enum class LinkStage { Down, Opened, Exchanging, Ready, Broken };

struct SessionCounters {
  std::uint64_t duplicates = 0;
  std::uint64_t violations = 0;
  std::uint64_t control_frames = 0;
};

class Session {
 public:
  Session(const SessionOptions& options, Link& link, Timekeeper& timekeeper, SessionObserver& observer,
          const MemorySource& memory = own_memory);

  // The link's side.
  void opened();  ///< receives can be posted, nothing can arrive yet
  /// After opened(): what can stand for this side's hello. Nothing: there has to be one.
  std::optional<Greeting> greeting();
  /// Sends can be posted. `heard`: the peer's greeting, if it has ours as well; then there are no hellos, else
  /// frames may have been received already. It counts only if ours was asked for.
  void link_up(const std::optional<Greeting>& heard = {});
  void received(ReceiveSlot slot, std::size_t length);
  void sent(Token token);
  void link_down();
  void timer();
  void quiesce();  ///< post nothing more; drained() when all has completed

  // The application's side.
  Result<std::uint64_t> send(std::span<const std::byte> message);
  Result<void> one_sided(OperationKind kind, const LocalPart& local, std::string_view remote,
                         std::size_t offset, OneSidedDone done);
  void pause() { is_paused_ = true; }
  void unpause();
  Result<void> finish();
  Result<RegionPlace> add_region(std::string_view name, std::uint64_t address, std::uint64_t length,
                                 RegionAccess access);
  Result<RegionPlace> remove_region(std::string_view name);
  void tell_regions() { pump(); }  ///< after add_region(), once the link knows its key

  /// No input does anything any more. One-sided operations get their answers from here.
  ChannelEnd end(const Gone& why);

  [[nodiscard]] LinkStage stage() const { return stage_; }
  [[nodiscard]] bool has_peer_finished() const { return has_peer_finished_; }
  /// The peer's goodbye was delivered, and its device has our acknowledgement of it: it closes, and does not
  /// come back when the link breaks.
  [[nodiscard]] bool has_peer_left() const { return has_peer_left_; }
  [[nodiscard]] const OperationStream& stream() const { return stream_; }
  [[nodiscard]] const PeerRegions& peer_regions() const { return peer_regions_; }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint32_t peer_limit() const { return peer_ ? peer_->message_limit : 0; }
  [[nodiscard]] const SessionCounters& counters() const { return counters_; }
  [[nodiscard]] const Slab& slab() const { return slab_; }

  /// Tokens of control frames; operations have those below.
  static constexpr std::uint64_t kControlTokens = 1ULL << 61U;

 private:
  /// Work requests and control slots that only acknowledgements and grants may use.
  static constexpr int kControlRoom = 4;

  struct Arrival {
    ReceiveSlot slot{};
    std::uint32_t length = 0;
    bool is_finish = false;
  };

  // session_receive.cpp
  void take_hello(ReceiveSlot slot, const Header& header, std::span<const std::byte> payload);
  [[nodiscard]] bool meet(const Greeting& peer, std::uint16_t slots);
  void settle_writes();
  void take(ReceiveSlot slot, const Header& header, std::span<const std::byte> payload);
  void take_numbered(const Arrival& arrival, std::uint64_t number);
  void deliver_held();
  void deliver(const Arrival& arrival);
  [[nodiscard]] Arrival& held_at(std::uint64_t index) { return held_[index & (held_.size() - 1)]; }
  void repost(ReceiveSlot slot);
  void advance_stage();

  // session_send.cpp
  /// Sends what there is to send, as far as there is room.
  void pump() {
    if (stream_.is_anything_waiting() || is_acknowledgement_wanted_ || receive_credit_.is_grant_due() ||
        !local_regions_.is_all_told()) {
      send_all();
    }
  }
  void send_all();
  void greet();
  void send_control_frames();
  void send_regions();
  void send_operations();
  void send_frame(const Operation& operation);
  void send_one_sided(const Operation& operation);
  Header stamp(FrameType type, std::uint32_t length, std::uint64_t number);
  bool send_control(FrameType type, std::span<const std::byte> payload);
  [[nodiscard]] bool waits_for_first() const { return is_first_awaited_ && stream_.is_anything_out(); }
  [[nodiscard]] bool has_link_room(std::uint32_t reserve) const {
    return in_flight_ + reserve < options_.send_depth;
  }

  // session.cpp
  void violation(const std::string& why);
  void break_link(const std::string& why);
  void after_input() {
    if (stream_.acknowledged() != reported_acknowledged_ || is_blocked_ || is_one_sided_blocked_ ||
        is_quiescing_ || stream_.has_finish()) {
      tell_application();
    }
  }
  void tell_application();
  void arm(Clock::time_point when);
  void note_unacknowledged();
  [[nodiscard]] bool is_live() const { return stage_ == LinkStage::Exchanging || stage_ == LinkStage::Ready; }

  const SessionOptions options_;
  Link& link_;
  Timekeeper& timekeeper_;
  SessionObserver& observer_;
  Slab slab_;
  OperationStream stream_;
  LocalRegions local_regions_;
  PeerRegions peer_regions_;
  std::optional<Hello> peer_;  // as of the first Hello; it may not change

  // Of the present link.
  LinkStage stage_ = LinkStage::Down;
  SendCredit send_credit_;
  ReceiveCredit receive_credit_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t before_goodbye_heard_ =
      0;  // completions until the peer has the acknowledgement of its goodbye
  std::array<bool, Slab::kControlSlots> control_in_flight_{};
  bool is_up_ = false;
  bool has_said_greeting_ = false;
  bool is_hello_sent_ = false;
  bool is_greeted_ = false;  // the peer's Hello is here
  /// Came back, and nothing is known yet to have been done on this link: one operation has to do for now.
  bool is_first_awaited_ = false;
  std::uint64_t acknowledged_by_hello_ = 0;
  bool is_quiescing_ = false;
  bool is_drained_ = false;
  std::optional<Clock::time_point> greeting_deadline_;

  // Receiving.
  std::uint64_t delivered_ = 0;
  std::vector<Arrival>
      held_;  // a ring of a power of two: arrived and not delivered, because the application is paused
  std::uint64_t held_head_ = 0;
  std::uint64_t held_tail_ = 0;
  std::optional<ReceiveSlot> in_delivery_;
  bool is_paused_ = false;
  bool has_peer_finished_ = false;
  bool has_peer_left_ = false;

  // Acknowledging.
  std::uint64_t acknowledged_to_peer_ = 0;
  std::uint64_t acknowledge_at_once_ = 1;  // so many unacknowledged deliveries do not wait for the timer
  bool is_acknowledgement_wanted_ = false;
  std::optional<Clock::time_point> tick_;  // twice per ack_delay while something waits
  bool is_old_at_tick_ = false;            // what waits was waiting at the last tick already
  std::optional<Clock::time_point> armed_;

  // Towards the application.
  std::uint64_t reported_acknowledged_ = 0;
  bool is_blocked_ = false;
  bool is_one_sided_blocked_ = false;
  bool is_finish_reported_ = false;
  bool has_ended_ = false;
  SessionCounters counters_;
};

}  // namespace rdmove::failover::channel
