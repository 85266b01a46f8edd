#include "guestagent/ping/client_ring.hpp"

#include <algorithm>

namespace rdmove::ping {

using failover::Channel;
using failover::ErrorCode;
using failover::RegionAccess;
using failover::Result;

Result<void> ClientRing::register_on(Channel& channel) {
  for (const auto& [ring, name] : {std::pair{&source_, kSourceName}, std::pair{&copy_, kReadName}}) {
    auto& memory = ring->memory();
    if (auto done = channel.register_region(name, memory.data(), memory.size(), RegionAccess::Local); !done)
      return done;
  }
  return {};
}

bool ClientRing::prepare(Channel& channel, std::uint64_t number) {
  if (!channel.peer_region(kRingName)) return false;  // it is told with the hello, or a little later
  const auto before = number > kPlaces ? number - kPlaces : 0;  // whose place this is so far
  if (channel.acknowledged() < before || read_up_to() < before) return false;
  if (!what_.write || written_ == number) return true;
  write_message(source_.place(number), stream_, number);
  const auto asked = channel.write({kSourceName, source_.offset(number), source_.size()}, kRingName,
                                   source_.offset(number), [this](const Result<void>& result) {
                                     if (result)
                                       tally_.wrote();
                                     else if (result.error().code != ErrorCode::Gone)
                                       tally_.spoilt();
                                   });
  if (asked) written_ = number;
  return asked.has_value();
}

void ClientRing::answered(Channel& channel, std::uint64_t number) {
  answered_ = std::max(answered_, number);
  read_next(channel);
}

void ClientRing::read_next(Channel& channel) {
  while (what_.read && reading_ < answered_) {
    const auto number = reading_ + 1;
    const auto asked = channel.read(
        kRingName, copy_.offset(number), {kReadName, copy_.offset(number), copy_.size()},
        [this, &channel, number](const Result<void>& result) { was_read(channel, number, result); });
    if (!asked) return;  // no room: at the next answer, or the next one that is read
    reading_ = number;
  }
}

void ClientRing::was_read(Channel& channel, std::uint64_t number, const Result<void>& result) {
  if (!result && result.error().code == ErrorCode::Gone) return;
  const auto found = read_message(copy_.place(number));
  if (result && found && found->stream == stream_ && found->number == number)
    tally_.read();
  else
    tally_.spoilt();
  read_ = number;
  read_next(channel);
}

}  // namespace rdmove::ping
