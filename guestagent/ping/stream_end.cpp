#include "guestagent/ping/stream_end.hpp"

#include <fmt/format.h>

#include <utility>

namespace rdmove::ping {

using failover::Channel;
using failover::ConnectionState;

ConnectionReport StreamEnd::report() const {
  ConnectionReport report;
  report.number = number_;
  report.peer = peer_;
  report.ended = ended_;
  report.tally = &tally_;
  report.state = is_gone_ ? "gone" : was_up_ ? "down" : "connecting";
  if (channel_) {
    if (!is_gone_ && channel_->state() == ConnectionState::Up) report.state = "up";
    report.sent = channel_->sent();
    report.resent = channel_->resent();
  }
  return report;
}

void StreamEnd::up(Channel& channel) {
  peer_ = channel.connection().peer().text();
  say_(fmt::format("connection {} {}: up{}", number_, peer_,
                   was_up_ ? fmt::format(" again, {} sent again", channel.resent()) : ""));
  was_up_ = true;
}

void StreamEnd::down(Channel&, failover::DownReason reason) {
  tally_.down();
  say_(fmt::format("connection {} {}: down ({})", number_, peer_, failover::to_text(reason)));
}

void StreamEnd::gone(Channel&, const failover::ChannelEnd& end) {
  is_gone_ = true;
  ended_ = fmt::format("{}: {}", failover::to_text(end.why.reason), end.why.message);
  say_(fmt::format("connection {} {}: ended: {}; acknowledged up to {}, {} of unknown fate, {} unsent",
                   number_, peer_, ended_, end.acknowledged.last, end.unknown.last + 1 - end.unknown.first,
                   end.unsent.last + 1 - end.unsent.first));
}

void ServerEnd::gone(Channel& channel, const failover::ChannelEnd& end) {
  StreamEnd::gone(channel, end);
  tell_end_();
}

void ServerEnd::received(Channel& channel, std::span<const std::byte> message) {
  const auto read = read_message(message);
  tally_.arrived(read ? std::optional(read->number) : std::nullopt, Clock::now());
  if (channel.send(message)) return;
  unanswered_.assign(message.begin(), message.end());
  channel.pause();
}

void ServerEnd::writable(Channel& channel) {
  if (unanswered_.empty() || !channel.send(unanswered_)) return;
  unanswered_.clear();
  channel.unpause();
}

void ClientEnd::received(Channel&, std::span<const std::byte> message) {
  const auto read = read_message(message);
  const bool is_ours = read && read->stream == stream_ && message.size() == message_.size();
  tally_.arrived(is_ours ? std::optional(read->number) : std::nullopt, Clock::now());
}

bool ClientEnd::send() {
  if (!channel_ || is_gone()) return false;
  write_message(message_, stream_, sent_ + 1);
  if (!channel_->send(message_)) return false;
  ++sent_;
  return true;
}

}  // namespace rdmove::ping
