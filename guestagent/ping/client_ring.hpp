// The client's one-sided operations: writes before its messages, reads after their answers. Owned by its
// connection's end; the loop's thread.
#pragma once

#include <memory>

#include "guestagent/ping/message.hpp"
#include "guestagent/ping/ring.hpp"
#include "guestagent/ping/tally.hpp"
#include "rdmove/channel.hpp"

namespace rdmove::ping {

class ClientRing {
 public:
  ClientRing(OneSided what, Stream stream, std::size_t size, Tally& tally)
      : what_(what), stream_(stream), source_(size), copy_(size), tally_(tally) {}

  failover::Result<void> register_on(failover::Channel& channel);
  /// What belongs before this message has been asked for. False: not yet.
  bool prepare(failover::Channel& channel, std::uint64_t number);
  /// All answers up to this one are there.
  void answered(failover::Channel& channel, std::uint64_t number);
  /// The last answer whose content has been read; all are, when nothing is to be read.
  [[nodiscard]] std::uint64_t read_up_to() const { return what_.read ? read_ : answered_; }

 private:
  void read_next(failover::Channel& channel);
  void was_read(failover::Channel& channel, std::uint64_t number, const failover::Result<void>& result);

  const OneSided what_;
  const Stream stream_;
  Ring source_;
  Ring copy_;
  Tally& tally_;
  std::uint64_t written_ = 0;  // asked for
  std::uint64_t answered_ = 0;
  std::uint64_t reading_ = 0;  // asked for
  std::uint64_t read_ = 0;
};

}  // namespace rdmove::ping
