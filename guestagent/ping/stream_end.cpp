#include "guestagent/ping/stream_end.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  if (ring_ && read) look_into_ring(message, read->number);
  if (channel.send(message)) return;
  unanswered_.assign(message.begin(), message.end());
  channel.pause();
}

void ServerEnd::writable(Channel& channel) {
  if (unanswered_.empty() || !channel.send(unanswered_)) return;
  unanswered_.clear();
  channel.unpause();
}

failover::Result<void> ServerEnd::show_ring(OneSided what, std::size_t size) {
  one_sided_ = what;
  ring_ = std::make_unique<Ring>(size);
  auto& memory = ring_->memory();
  return channel_->register_region(kRingName, memory.data(), memory.size(),
                                   failover::RegionAccess::RemoteReadWrite);
}

// What was written before a message is there when the message is. A client that only reads gets it from here.
void ServerEnd::look_into_ring(std::span<const std::byte> message, std::uint64_t number) {
  const auto place = ring_->place(number);
  if (!one_sided_.write)
    std::copy_n(message.begin(), std::min(message.size(), place.size()), place.begin());
  else if (std::equal(place.begin(), place.end(), message.begin(), message.end()))
    tally_.read();
  else
    tally_.spoilt();
}

ClientEnd::ClientEnd(std::uint64_t number, Say say, Stream stream, const Options& options)
    : StreamEnd(number, std::move(say)), stream_(stream), message_(options.size) {
  if (options.one_sided.is_any())
    ring_ = std::make_unique<ClientRing>(options.one_sided, stream, options.size, tally_);
}

failover::Result<void> ClientEnd::begin(std::unique_ptr<Channel> channel) {
  own(std::move(channel));
  return ring_ ? ring_->register_on(*channel_) : failover::Result<void>();
}

void ClientEnd::received(Channel& channel, std::span<const std::byte> message) {
  const auto read = read_message(message);
  const bool is_ours = read && read->stream == stream_ && message.size() == message_.size();
  tally_.arrived(is_ours ? std::optional(read->number) : std::nullopt, Clock::now());
  if (ring_ && is_ours) ring_->answered(channel, tally_.last());
}

bool ClientEnd::send() {
  if (!channel_ || is_gone()) return false;
  if (ring_ && !ring_->prepare(*channel_, sent_ + 1)) return false;
  write_message(message_, stream_, sent_ + 1);
  if (!channel_->send(message_)) return false;
  ++sent_;
  return true;
}

}  // namespace rdmove::ping
