#include "guestagent/failover/channel/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace rdmove::failover::channel {

Session::Session(const SessionOptions& options, Link& link, Timekeeper& timekeeper, SessionObserver& observer,
                 const MemorySource& memory)
    : options_(options),
      link_(link),
      timekeeper_(timekeeper),
      observer_(observer),
      slab_({options.send_limit, options.send_slots + 1U, options.message_limit, options.receive_slots},
            memory),
      stream_(options.send_slots),
      held_(std::bit_ceil(std::size_t{options.receive_slots})) {}

void Session::opened() {
  if (stage_ == LinkStage::Opened && !is_up_)
    link_down();  // an attempt that never came up; its queue pair is gone
  if (has_ended_ || stage_ != LinkStage::Down) return;
  stage_ = LinkStage::Opened;
  has_said_greeting_ = false;
  send_credit_.start();
  receive_credit_.start();
  for (std::uint32_t i = 0; i < options_.receive_slots; ++i) {
    // The application may be looking at it; it is posted when its callback returns.
    if (in_delivery_ != ReceiveSlot{i}) repost(ReceiveSlot{i});
  }
}

// From now until the link is up nothing is delivered: what was held went with the last link. So what is said
// here stays true; but not of a message whose delivery has only begun. And the peer that has said goodbye has
// to be seen to hear its acknowledgement: that takes a frame.
std::optional<Greeting> Session::greeting() {
  if (has_ended_ || stage_ != LinkStage::Opened || is_up_ || !peer_ || in_delivery_ || has_peer_finished_)
    return std::nullopt;
  has_said_greeting_ = true;
  return Greeting{local_regions_.start(), receive_credit_.advertise(), delivered_};
}

void Session::link_up(const std::optional<Greeting>& heard) {
  if (has_ended_ || stage_ != LinkStage::Opened || is_up_) return;
  is_up_ = true;
  greeting_deadline_ = timekeeper_.now() + options_.greeting_limit;
  if (!heard || !has_said_greeting_) {
    greet();
  } else if (meet(*heard, peer_->receive_slots)) {
    is_hello_sent_ = true;
    acknowledged_to_peer_ = delivered_;
    settle_writes();
    advance_stage();
    pump();  // regions: the peer's may be awaited still
  }
  if (greeting_deadline_) arm(*greeting_deadline_);
  after_input();
}

void Session::link_down() {
  if (has_ended_) return;
  stage_ = LinkStage::Down;
  is_up_ = is_hello_sent_ = is_greeted_ = is_quiescing_ = is_drained_ = is_acknowledgement_wanted_ = false;
  is_first_awaited_ = peer_.has_value();
  greeting_deadline_.reset();
  in_flight_ = before_goodbye_heard_ = 0;
  control_in_flight_.fill(false);
  // Not delivered, so not acknowledged: the peer sends it again.
  held_head_ = held_tail_ = 0;
  stream_.rewind();
  after_input();
}

void Session::sent(Token token) {
  if (has_ended_ || stage_ == LinkStage::Down) return;
  OneSidedDone done;
  if (const std::uint64_t slot = static_cast<std::uint64_t>(token) - kControlTokens;
      slot < Slab::kControlSlots && control_in_flight_[slot]) {
    control_in_flight_[slot] = false;
  } else {
    const auto what = stream_.completed(token);
    if (what == OperationStream::Completed::Unknown) return;
    if (what == OperationStream::Completed::OneSided) {
      done = stream_.take_done(token);
      is_first_awaited_ = false;
    }
  }
  --in_flight_;
  if (before_goodbye_heard_ != 0 && --before_goodbye_heard_ == 0) has_peer_left_ = true;
  if (done) done({});
  pump();
  after_input();
}

void Session::quiesce() {
  if (has_ended_) return;
  if (is_live() && delivered_ > acknowledged_to_peer_) {
    is_acknowledgement_wanted_ = true;  // the less it must send again
    send_control_frames();
  }
  is_quiescing_ = true;
  after_input();
}

void Session::timer() {
  if (has_ended_) return;
  armed_.reset();
  const auto now = timekeeper_.now();
  if (greeting_deadline_ && stage_ != LinkStage::Ready && now >= *greeting_deadline_) {
    // One that has greeted before is a channel: it is only slow to come back, as in a crowd.
    return peer_ ? break_link("the peer did not greet in time")
                 : violation("it did not greet in time: is a channel there?");
  }
  if (tick_ && now >= *tick_) {
    tick_.reset();
    if (delivered_ > acknowledged_to_peer_) {
      if (is_old_at_tick_) is_acknowledgement_wanted_ = true;
      is_old_at_tick_ = true;
      tick_ = now + options_.ack_delay / 2;
    }
  }
  if (tick_) arm(*tick_);
  if (greeting_deadline_ && stage_ != LinkStage::Ready) arm(*greeting_deadline_);
  pump();
  after_input();
}

void Session::arm(Clock::time_point when) {
  if (armed_ && *armed_ <= when) return;
  armed_ = when;
  timekeeper_.wake_at(when);
}

// A clock is read once per tick, not once per message: what waits is acknowledged at its second tick.
void Session::note_unacknowledged() {
  if (delivered_ - acknowledged_to_peer_ >= acknowledge_at_once_) is_acknowledgement_wanted_ = true;
  if (tick_) return;
  is_old_at_tick_ = false;
  tick_ = timekeeper_.now() + options_.ack_delay / 2;
  arm(*tick_);
}

void Session::break_link(const std::string& why) {
  if (stage_ == LinkStage::Down || stage_ == LinkStage::Broken) return;
  stage_ = LinkStage::Broken;
  greeting_deadline_.reset();
  link_.break_link(why);
}

void Session::violation(const std::string& why) {
  if (++counters_.violations > static_cast<std::uint64_t>(options_.violations_limit)) {
    stage_ = LinkStage::Broken;
    return observer_.failed(fmt::format("the peer breaks the channel's rules: {}", why));
  }
  break_link(fmt::format("the peer broke a rule of the channel: {}", why));
}

void Session::tell_application() {
  if (has_ended_) return;
  if (const std::uint64_t now = stream_.acknowledged(); now > reported_acknowledged_) {
    reported_acknowledged_ = now;
    observer_.acknowledged(now);
    if (!has_ended_ && is_first_awaited_ && now > acknowledged_by_hello_) {
      is_first_awaited_ = false;
      pump();
    }
  }
  if (!has_ended_ && ((is_blocked_ && peer_ && stream_.has_message_room()) ||
                      (is_one_sided_blocked_ && peer_ && stream_.has_one_sided_room()))) {
    is_blocked_ = is_one_sided_blocked_ = false;
    observer_.writable();
  }
  if (!has_ended_ && !is_finish_reported_ && stream_.is_finish_acknowledged()) {
    is_finish_reported_ = true;
    observer_.finished();
  }
  if (!has_ended_ && is_quiescing_ && in_flight_ == 0) {
    is_quiescing_ = false;
    is_drained_ = true;
    observer_.drained();
  }
}

ChannelEnd Session::end(const Gone& why) {
  ChannelEnd end{why, {}, {}, {}};
  const std::uint64_t acknowledged = stream_.acknowledged();
  const std::uint64_t posted = std::max(stream_.posted_messages(), acknowledged);
  end.acknowledged = {1, acknowledged};
  end.unknown = {acknowledged + 1, posted};
  end.unsent = {posted + 1, stream_.sent()};
  has_ended_ = true;
  stage_ = LinkStage::Down;
  stream_.rewind();
  for (auto& done : stream_.settle_writes()) {
    if (done) done({});
  }
  for (auto& done : stream_.abandon_all()) {
    if (done) done(fail(ErrorCode::Gone, fmt::format("the channel has ended: {}", why.message)));
  }
  return end;
}

}  // namespace rdmove::failover::channel
