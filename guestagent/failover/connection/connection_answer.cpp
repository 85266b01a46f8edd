#include <algorithm>
#include <utility>

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/region_core.hpp"

namespace rdmove::failover {

using conn::CallKind;
using conn::Failure;
using conn::RefusalCode;

bool ConnectionCore::is_called_by(const conn::Hello& hello) const {
  if (hello.kind == CallKind::Recall)
    return hello.token == own_token_ && hello.incarnation == peer_.incarnation;
  // A first call again: the caller has not heard our answer.
  return role_ == conn::Role::Acceptor && hello.token == peer_.token &&
         hello.incarnation == peer_.incarnation;
}

void ConnectionCore::called(conn::CmEvent& event, const conn::Hello& hello) {
  const auto self = shared_from_this();
  switch (policy_.judge_call({hello.epoch, peer_.token, hello.moved})) {
    case conn::Verdict::StaleEpoch:
      return hub_->refuse(std::move(event.incoming), RefusalCode::StaleEpoch);
    case conn::Verdict::Collision:
      return hub_->refuse(std::move(event.incoming), RefusalCode::Collision);
    case conn::Verdict::Busy:
      return hub_->refuse(std::move(event.incoming), RefusalCode::Busy);
    case conn::Verdict::Accept:
      break;
  }
  lose(DownReason::Replaced);
  if (state_ == ConnectionState::Gone) return hub_->refuse(std::move(event.incoming), RefusalCode::Closed);
  take_attempt_down();
  endpoint_ = std::move(event.incoming);
  hub_->adopt(*endpoint_, *this);
  last_device_ = endpoint_->device();
  call_kind_ = hello.kind;
  agreed_reads_ = std::min(options_.remote_reads, event.remote_reads);
  if (role_ == conn::Role::Acceptor && !local_) local_ = endpoint_->local();
  learn(hello);
  heard_ = hello.kind == CallKind::Recall ? hello.application : std::vector<std::byte>();
  epoch_ = hello.epoch;
  policy_.call_accepted(hub_->now(), hello.epoch);
  stage_ = Stage::Parked;
  if (old_queues_ == 0) return answer();
  drive();
}

void ConnectionCore::answer() {
  if (!open_queue()) return;
  said_.clear();
  if (!heard_.empty()) say_greeting(heard_);
  const auto data = encode(hello());
  stage_ = Stage::Answering;
  if (auto sent = endpoint_->accept(words(data, agreed_reads_)); !sent)
    return abandon(Failure::Refused, sent.error().message);
  drive();
}

// A queue pair on the endpoint's device, with the owner's memory and receives. False: it was abandoned, or
// the owner has closed.
bool ConnectionCore::open_queue() {
  auto device = hub_->devices().device_for(*endpoint_);
  auto made =
      device.and_then([this](const auto& opened) { return endpoint_->make_queue(opened, options_.queues); });
  if (!made) {
    abandon(conn::is_no_way(made.error().code) ? Failure::NoWay : Failure::Refused, made.error().message);
    return false;
  }
  device_ = *device;
  for (RegionCore* region : regions_) {
    auto registered = region->register_on(*endpoint_);
    if (registered) continue;
    if (conn::is_no_way(registered.error().code))
      abandon(Failure::NoWay, registered.error().message);
    else
      end(GoneReason::Incompatible, "the device does not take the memory: " + registered.error().message);
    return false;
  }
  const auto number = endpoint_->number();
  handler_->opened(*handle_);
  return endpoint_ && endpoint_->number() == number;
}

conn::Hello ConnectionCore::hello() const {
  conn::Hello out;
  out.kind = call_kind_;
  out.moved = policy_.moved();
  out.connection = id_;
  out.token = call_kind_ == CallKind::First ? own_token_ : peer_.token;
  out.incarnation = hub_->incarnation();
  out.epoch = epoch_;
  out.recall_port = hub_->recall_port();
  out.backlog = hub_->backlog();
  out.application = call_kind_ == CallKind::First ? options_.private_data : said_;
  return out;
}

void ConnectionCore::say_greeting(std::span<const std::byte> heard) {
  said_.clear();
  if (greeter_ && call_kind_ == CallKind::Recall) said_ = greeter_->greeting(heard);
}

conn::CallWords ConnectionCore::words(const std::vector<std::byte>& data, std::uint8_t remote_reads) const {
  return {data, options_.retry_count, options_.ack_timeout, remote_reads};
}

void ConnectionCore::learn(const conn::Hello& hello) {
  if (hello.kind == CallKind::First) {
    peer_.token = hello.token;
    peer_.application = hello.application;
  }
  peer_.incarnation = hello.incarnation;
  peer_.recall_port = hello.recall_port;
  peer_.is_known = true;
  hub_->gate().learn(lane(peer_.recall_port), hello.backlog);
}

void ConnectionCore::established() {
  ticket_.reset();
  stage_ = Stage::Established;
  policy_.connected(hub_->now(), epoch_);
  policy_timer_.cancel();
  if (!local_) local_ = endpoint_->local().with_port(0);
  if (!options_.receives_come_first) endpoint_->shorten_rnr_timer();
  const bool again = state_ == ConnectionState::Down;
  state_ = ConnectionState::Up;
  if (again) {
    ++failovers_;
    last_blackout_ = std::chrono::duration_cast<conn::Milliseconds>(hub_->now() - down_since_);
  }
  hub_->changed();
  last_completion_ = hub_->now();
  keep_alive();
  const auto number = endpoint_->number();
  if (greeter_ && !said_.empty() && !heard_.empty()) greeter_->greeted(heard_);
  handler_->up(*handle_);
  // Their event is used up: for them there is never another.
  if (endpoint_ && endpoint_->number() == number && std::exchange(early_completions_, false))
    completion_event();
}

}  // namespace rdmove::failover
