// Who calls whom, when, and when it is over: docs/reconnect-protocol.md without any I/O. One for each
// connection, owned by its core; the loop's thread. Facts go in as calls; due() says what to do now, next()
// when to ask again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "guestagent/failover/connection/clock.hpp"
#include "rdmove/connection.hpp"

namespace rdmove::failover::conn {

enum class Role { Connector, Acceptor };

enum class Loss {
  Moved,      ///< our device left
  Stayed,     ///< only the peer's did, or the way between
  Requested,  ///< restart()
};

/// How an attempt of ours, or an answer to the peer's, failed.
enum class Failure {
  NoWay,            ///< our address or device is not there (yet)
  NoAnswer,         ///< of the peer, within the attempt's time
  NoListener,       ///< REJ 8
  StaleConnection,  ///< REJ 10
  StaleEpoch,
  Collision,
  Busy,
  Refused,  ///< anything else
};

enum class Target { Recall, Service };

enum class Verdict { Accept, StaleEpoch, Collision, Busy };

class RecallPolicy {
 public:
  struct Settings {
    Role role = Role::Connector;
    Milliseconds give_up_after{120'000};
    std::uint64_t own_token = 0;
  };

  struct Step {
    enum class Kind {
      None,
      Call,     ///< start an attempt: attempt_begun() when it really starts
      Abandon,  ///< the attempt's time is over: take it down, then attempt_failed(NoAnswer)
      End,      ///< Gone, for `reason`
    };
    Kind kind = Kind::None;
    Target target = Target::Recall;
    GoneReason reason = GoneReason::TimedOut;
  };

  RecallPolicy(const Settings& settings, Random& random) : settings_(settings), random_(random) {}

  void start(Time now);  ///< the first connect of a Connector, or the first call of an Acceptor
  void lost(Time now, Loss how);
  void device_left(Time now);  ///< learnt after lost(Stayed): it was ours after all
  void hold(Time now);         ///< our agent: no calls, and the clock of give_up_after stands still
  void unhold(Time now);
  void way_appeared(Time now);  ///< an address came, or a device
  /// Waits for the peer's call, and calls itself only when none comes.
  [[nodiscard]] bool is_listening() const { return phase_ == Phase::Waiting && listening_; }
  /// At `last` the peer's process called for another of its connections: one by one, it comes to this one.
  void peer_is_calling(Time last);

  std::uint32_t next_epoch();  ///< for the call that is about to be made
  void attempt_begun(Time now, std::size_t calls_in_flight);
  void progressed(Time now);  ///< address or route resolved: the attempt's time starts anew
  void call_sent() { call_sent_ = true; }
  void attempt_failed(Time now, Failure failure);
  void connected(Time now, std::uint32_t epoch);

  struct Call {
    std::uint32_t epoch = 0;
    std::uint64_t peer_token = 0;  ///< the token by which we call that peer
    bool peer_moved = false;
  };
  [[nodiscard]] Verdict judge_call(const Call& call) const;
  void call_accepted(Time now, std::uint32_t epoch);

  [[nodiscard]] Step due(Time now);
  [[nodiscard]] std::optional<Time> next() const;
  [[nodiscard]] bool moved() const { return moved_; }
  [[nodiscard]] bool is_held() const { return held_since_.has_value(); }

 private:
  enum class Phase { Resting, Waiting, Queued, Calling, Answering };
  void wait_until(Time at);
  void listen_until(Time at);
  [[nodiscard]] Milliseconds jitter();
  [[nodiscard]] Target target();
  [[nodiscard]] Milliseconds patience() const;

  Settings settings_;
  Random& random_;
  Phase phase_ = Phase::Resting;
  bool ever_connected_ = false;
  bool listening_ = false;  ///< while Waiting: for the peer's call
  bool moved_ = false;
  bool no_way_ = false;  ///< what the last attempt failed of
  bool call_sent_ = false;
  std::optional<GoneReason> ended_;
  unsigned refusals_ = 0;  ///< since the backoff began
  unsigned stale_ = 0;     ///< in a row
  std::uint32_t own_epoch_ = 0;
  std::uint32_t seen_epoch_ = 0;
  bool at_service_ = false;  ///< where the last call went
  Time next_call_{};
  Time attempt_ends_{};
  Milliseconds attempt_time_{0};
  Time give_up_at_{};
  std::optional<Time> held_since_;
  std::optional<Time> no_listener_since_;
};

}  // namespace rdmove::failover::conn
