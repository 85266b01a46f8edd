// Two sessions and the fabric between them, in memory, moved one small step at a time by whoever holds the
// schedule. A link's bytes are read out of the sender's slot when the step executes them, as a device does;
// what is in flight when it breaks is lost, with the completions that nobody has polled. Checks while it
// runs: no send without a receive, contents, order, once, one-sided operations in their place, no slot used
// twice.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "guestagent/failover/channel/session.hpp"

namespace rdmove::failover::channel::test {

struct Limits {
  std::uint16_t send_slots = 4;
  std::uint16_t receive_slots = 8;
  std::uint32_t send_depth = 16;
  bool shows_region = true;
  bool greets_in_calls = true;  ///< else it is of a version that does not
};

/// What the application does from inside its callbacks, decided by the schedule.
enum class Mischief : std::uint8_t { None, Echo, Pause, BreakOwn, BreakBoth, Reconnect, Finish, Region };

class World;

class Side final : public Link, public Timekeeper, public SessionObserver {
 public:
  Side(World& world, const Limits& limits, int index);

  // Link
  bool post_send(std::span<const std::byte> frame, Token token) override;
  bool post_receive(ReceiveSlot slot) override;
  bool post_write(const OneSidedWork& work, Token token) override;
  bool post_read(const OneSidedWork& work, Token token) override;
  [[nodiscard]] std::uint32_t remote_key(RegionPlace place) const override;
  void break_link(const std::string& why) override;
  // Timekeeper
  Clock::time_point now() override;
  void wake_at(Clock::time_point when) override { wake_ = when; }
  // SessionObserver
  void ready() override { is_ready_ = true; }
  void received(std::span<const std::byte> message) override;
  void acknowledged(std::uint64_t number) override;
  void writable() override {}
  void regions_changed() override {}
  void drained() override {}
  void finished() override { is_finished_ = true; }
  void failed(const std::string& why) override { broken_rules_.push_back(why); }

  // The application.
  void send();
  void write();
  void read();
  void toggle_region();
  void quiesce();    ///< the device leaves soon; the end of it comes with the next take_down()
  void take_down();  ///< this side's queue pair ends; the other's does not know

  struct Work {
    enum class Kind { Send, Write, Read } kind = Kind::Send;
    std::span<const std::byte> frame;
    OneSidedWork one_sided;
    Token token{};
  };
  struct Completion {
    bool is_receive = false;
    ReceiveSlot slot{};
    std::size_t length = 0;
    Token token{};
  };

  World& world_;
  const int index_;
  const Limits limits_;
  Session session_;

  // The queue pair.
  enum class Queue { Down, Opened, Up } queue_ = Queue::Down;
  std::uint32_t generation_ = 0;
  std::optional<Greeting> heard_;  // in the call, or in its answer
  std::deque<Work> posted_;
  std::deque<Token> executed_;  // not acknowledged by the transport yet
  std::deque<ReceiveSlot> receives_;
  std::deque<Completion> completions_;

  // The application's memory, and what it knows.
  std::array<std::uint64_t, 2> shown_{};     // the peer writes [0] and reads [1]
  std::array<std::uint64_t, 64> written_{};  // sources of writes, one word each
  std::uint64_t read_into_ = 0;
  std::uint64_t accepted_ = 0;
  std::vector<std::uint64_t> writes_before_;  // by message: how many writes were asked for before it
  std::uint64_t writes_ = 0;
  std::uint64_t writes_done_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t reads_done_ = 0;
  std::uint64_t failed_one_sided_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t reported_ = 0;
  bool is_ready_ = false;
  bool is_finished_ = false;
  bool is_finishing_ = false;
  bool is_quiesced_ = false;
  bool has_region_ = true;
  Mischief next_mischief_ = Mischief::None;
  std::optional<Clock::time_point> wake_;
  std::vector<std::string> broken_rules_;
};

class World {
 public:
  explicit World(const Limits& a, const Limits& b);

  // Steps; each does nothing when it makes no sense at the moment.
  void execute(int side);      ///< the oldest work request of that side reaches the other
  void acknowledge(int side);  ///< the transport's acknowledgement of the oldest executed one
  void poll(int side);         ///< one completion is handed over
  void connect(int side);      ///< down both: a new link, which it calls for. Opened: it hears that it is up
  void take_down(int side) { sides_[static_cast<std::size_t>(side)].take_down(); }
  void pass(Clock::duration time);

  /// Nothing breaks any more: until nothing moves. False: it never ends.
  bool settle();

  Side& operator[](int side) { return sides_[static_cast<std::size_t>(side)]; }
  void check(bool holds, const char* rule);
  void greet(Side& caller, Side& callee);
  [[nodiscard]] const std::string& failure() const { return failure_; }

  Clock::time_point now_{};
  std::string failure_;
  std::uint64_t greeted_ = 0;  ///< links without hellos
  std::deque<Side> sides_;
};

}  // namespace rdmove::failover::channel::test
