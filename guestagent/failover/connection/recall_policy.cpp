#include "guestagent/failover/connection/recall_policy.hpp"

#include <algorithm>

namespace rdmove::failover::conn {
namespace {

constexpr Milliseconds connector_silence{2'000};
constexpr Milliseconds acceptor_silence{4'000};  // later, so that the two seldom cross
constexpr Milliseconds longest_backoff{2'000};
constexpr Milliseconds first_backoff{20};
constexpr Milliseconds least_attempt{1'000};
constexpr Milliseconds attempt_spread{1'000};
constexpr Milliseconds per_call_in_flight{10};  // measured on an emulated machine: docs/reconnect-protocol.md
// Long: the caller that has given up calls again, and that replaces this; while one that is taken down too
// early, because a crowd of calls keeps us from reading that it is established, has to be made anew.
constexpr Milliseconds answer_time{10'000};
constexpr Milliseconds process_is_gone{10'000};
constexpr Milliseconds nobody_listens{1'000};
constexpr unsigned stale_at_once = 3;

}  // namespace

void RecallPolicy::wait_until(Time at) {
  phase_ = Phase::Waiting;
  next_call_ = at;
  listening_ = false;
}

void RecallPolicy::listen_until(Time at) {
  wait_until(at);
  listening_ = true;
}

void RecallPolicy::peer_is_calling(Time last) {
  if (!is_listening()) return;
  next_call_ =
      std::max(next_call_, last + (settings_.role == Role::Connector ? connector_silence : acceptor_silence));
}

Milliseconds RecallPolicy::jitter() {
  const auto limit =
      std::min<Milliseconds>(longest_backoff, first_backoff * (1LL << std::min(refusals_, 10U)));
  ++refusals_;
  return random_.up_to(limit);
}

void RecallPolicy::start(Time now) {
  give_up_at_ = now + settings_.give_up_after;
  wait_until(settings_.role == Role::Connector ? now : Time::max());
}

void RecallPolicy::lost(Time now, Loss how) {
  give_up_at_ = now + settings_.give_up_after;
  if (held_since_) held_since_ = now;
  refusals_ = stale_ = 0;
  no_listener_since_.reset();
  no_way_ = false;
  moved_ = how == Loss::Moved;
  if (how == Loss::Stayed)
    listen_until(now + (settings_.role == Role::Connector ? connector_silence : acceptor_silence));
  else
    wait_until(now);
}

void RecallPolicy::device_left(Time now) {
  if (phase_ == Phase::Resting) return;
  moved_ = true;
  if (phase_ == Phase::Waiting) wait_until(std::min(next_call_, now));
}

void RecallPolicy::hold(Time now) {
  if (!held_since_) held_since_ = now;
}

void RecallPolicy::unhold(Time now) {
  if (!held_since_) return;
  give_up_at_ += now - *held_since_;
  held_since_.reset();
  refusals_ = 0;
  if (phase_ != Phase::Waiting) return;
  if (ever_connected_ || settings_.role == Role::Connector) wait_until(now);
}

void RecallPolicy::way_appeared(Time now) {
  refusals_ = 0;
  if (phase_ == Phase::Waiting && (no_way_ || moved_)) wait_until(std::min(next_call_, now));
}

std::uint32_t RecallPolicy::next_epoch() {
  own_epoch_ = std::max(own_epoch_, seen_epoch_) + 1;
  return own_epoch_;
}

void RecallPolicy::attempt_begun(Time now, std::size_t calls_in_flight) {
  phase_ = Phase::Calling;
  call_sent_ = false;
  attempt_time_ = least_attempt + random_.up_to(attempt_spread) +
                  per_call_in_flight * static_cast<std::int64_t>(calls_in_flight);
  attempt_ends_ = now + attempt_time_;
}

void RecallPolicy::progressed(Time now) {
  attempt_ends_ = now + attempt_time_;
}

void RecallPolicy::attempt_failed(Time now, Failure failure) {
  no_way_ = failure == Failure::NoWay;
  if (failure != Failure::StaleConnection && failure != Failure::StaleEpoch) stale_ = 0;
  if (failure == Failure::NoListener) {
    if (!no_listener_since_) no_listener_since_ = now;
    if (now - *no_listener_since_ >= patience())
      ended_ = ever_connected_ ? GoneReason::PeerEnded : GoneReason::Refused;
  } else {
    no_listener_since_.reset();
  }
  switch (failure) {
    case Failure::Collision:  // their call counts; ours only if it does not come
      return wait_until(now + connector_silence);
    case Failure::StaleEpoch:  // of a peer that always says so, too
    case Failure::StaleConnection:
      return wait_until(++stale_ <= stale_at_once ? now : now + jitter());
    default:
      return wait_until(!ever_connected_ && settings_.role == Role::Acceptor ? Time::max() : now + jitter());
  }
}

Milliseconds RecallPolicy::patience() const {
  return ever_connected_ ? process_is_gone : nobody_listens;
}

void RecallPolicy::connected(Time, std::uint32_t epoch) {
  phase_ = Phase::Resting;
  ever_connected_ = true;
  moved_ = false;
  at_service_ = false;
  seen_epoch_ = std::max(seen_epoch_, epoch);
}

// Of calls that cross, the one of the side that moved counts: the other's was sent to a device that was away.
Verdict RecallPolicy::judge_call(const Call& call) const {
  if (call.epoch <= seen_epoch_) return Verdict::StaleEpoch;
  if (held_since_) return Verdict::Busy;
  if (phase_ != Phase::Calling || !call_sent_) return Verdict::Accept;
  const bool ours = moved_ == call.peer_moved ? settings_.own_token < call.peer_token : moved_;
  return ours ? Verdict::Collision : Verdict::Accept;
}

void RecallPolicy::call_accepted(Time now, std::uint32_t epoch) {
  seen_epoch_ = epoch;
  if (phase_ == Phase::Resting) give_up_at_ = now + settings_.give_up_after;
  phase_ = Phase::Answering;
  attempt_ends_ = now + answer_time;
}

Target RecallPolicy::target() {
  if (!ever_connected_) return Target::Service;
  if (settings_.role == Role::Acceptor) return Target::Recall;
  // A process that was started anew listens at the service port, and answers that it does not know us.
  at_service_ = no_listener_since_ && !at_service_;
  return at_service_ ? Target::Service : Target::Recall;
}

RecallPolicy::Step RecallPolicy::due(Time now) {
  if (phase_ == Phase::Resting || held_since_) return {};
  if (ended_) return {Step::Kind::End, {}, *ended_};
  if (now >= give_up_at_) return {Step::Kind::End, {}, GoneReason::TimedOut};
  if (phase_ == Phase::Waiting && now >= next_call_) {
    phase_ = Phase::Queued;
    return {Step::Kind::Call, target(), {}};
  }
  if ((phase_ == Phase::Calling || phase_ == Phase::Answering) && now >= attempt_ends_)
    return {Step::Kind::Abandon, {}, {}};
  return {};
}

std::optional<Time> RecallPolicy::next() const {
  if (phase_ == Phase::Resting || held_since_) return std::nullopt;
  if (ended_) return Time{};
  if (phase_ == Phase::Waiting) return std::min(next_call_, give_up_at_);
  if (phase_ == Phase::Queued) return give_up_at_;
  return std::min(attempt_ends_, give_up_at_);
}

}  // namespace rdmove::failover::conn
