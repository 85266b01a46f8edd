// One connection's end: its channel, and what it has seen. The client sends and takes answers; the server
// answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "guestagent/ping/client_ring.hpp"
#include "guestagent/ping/message.hpp"
#include "guestagent/ping/options.hpp"
#include "guestagent/ping/report.hpp"
#include "rdmove/channel.hpp"

namespace rdmove::ping {

class StreamEnd : public failover::ChannelHandler {
 public:
  using Say = std::function<void(const std::string& line)>;
  StreamEnd(std::uint64_t number, Say say) : number_(number), say_(std::move(say)) {}

  void own(std::unique_ptr<failover::Channel> channel) { channel_ = std::move(channel); }
  [[nodiscard]] failover::Channel* channel() const { return channel_.get(); }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] bool is_gone() const { return is_gone_; }
  [[nodiscard]] ConnectionReport report() const;

  void up(failover::Channel& channel) override;
  void down(failover::Channel& channel, failover::DownReason reason) override;
  void gone(failover::Channel& channel, const failover::ChannelEnd& end) override;
  void acknowledged(failover::Channel&, std::uint64_t) override { tally_.completed(Clock::now()); }

 protected:
  std::uint64_t number_;
  Tally tally_;
  std::unique_ptr<failover::Channel> channel_;

 private:
  Say say_;
  std::string peer_;
  std::string ended_;
  bool was_up_ = false;
  bool is_gone_ = false;
};

/// Answers each message with the same.
class ServerEnd final : public StreamEnd {
 public:
  using Ended = std::function<void()>;
  ServerEnd(std::uint64_t number, Say say, Ended ended)
      : StreamEnd(number, std::move(say)), tell_end_(std::move(ended)) {}
  ~ServerEnd() override { channel_.reset(); }  // it has the ring registered
  ServerEnd(const ServerEnd&) = delete;
  ServerEnd& operator=(const ServerEnd&) = delete;
  void gone(failover::Channel& channel, const failover::ChannelEnd& end) override;
  void received(failover::Channel& channel, std::span<const std::byte> message) override;
  void writable(failover::Channel& channel) override;
  /// The memory that the client writes and reads.
  failover::Result<void> show_ring(OneSided what, std::size_t size);

 private:
  void look_into_ring(std::span<const std::byte> message, std::uint64_t number);
  Ended tell_end_;
  OneSided one_sided_;
  std::unique_ptr<Ring> ring_;
  std::vector<std::byte> unanswered_;  // the one that found no room; the channel is paused then
};

class ClientEnd final : public StreamEnd {
 public:
  ClientEnd(std::uint64_t number, Say say, Stream stream, const Options& options);
  ~ClientEnd() override { channel_.reset(); }  // it has the ring registered
  ClientEnd(const ClientEnd&) = delete;
  ClientEnd& operator=(const ClientEnd&) = delete;
  failover::Result<void> begin(std::unique_ptr<failover::Channel> channel);
  void received(failover::Channel& channel, std::span<const std::byte> message) override;
  /// One message, if there is room.
  bool send();
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  /// And not looked at in the server's memory, if it is to be.
  [[nodiscard]] std::uint64_t unanswered() const {
    return sent_ - (ring_ ? std::min(tally_.last(), ring_->read_up_to()) : tally_.last());
  }
  /// No answer comes any more.
  void close_book() { tally_.end(sent_); }

 private:
  Stream stream_;
  std::vector<std::byte> message_;
  std::unique_ptr<ClientRing> ring_;
  std::uint64_t sent_ = 0;
};

}  // namespace rdmove::ping
