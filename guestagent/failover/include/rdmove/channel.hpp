// Messages over a Connection: each is delivered once and in order, over any number of failovers, for the life
// of the two processes. Delivered means that the receiver's received() has returned.
//
// Bounded: a sender keeps what is not acknowledged in `send_slots` slots, and never has more on its way than
// the receiver has slots for; beyond that send() says WouldBlock until writable(). How it works on the wire:
// docs/channel-protocol.md. Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rdmove/connection.hpp"
#include "rdmove/error.hpp"

namespace rdmove::failover {

struct ChannelOptions {
  std::uint32_t message_limit = 4096;  ///< bytes that this side can receive in one message; at most 1 MiB
  std::uint32_t send_limit =
      0;  ///< bytes that it will send in one; 0: as message_limit. Memory is made for it
  std::uint16_t send_slots = 64;     ///< messages that are kept until acknowledged
  std::uint16_t receive_slots = 64;  ///< messages that can be on their way to us; at least 8
  ConnectionOptions connection;      ///< its queues are set by the channel
};

/// The messages of one direction by number (the first is 1). Empty ranges have last < first.
struct MessageRange {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  bool operator==(const MessageRange&) const = default;
};

/// What became of what this side sent.
struct ChannelEnd {
  Gone why;
  MessageRange acknowledged;  ///< delivered
  MessageRange unknown;       ///< were on their way: delivered or not
  MessageRange unsent;        ///< accepted by send(), never on their way
};

class Channel;

class ChannelHandler {
 public:
  virtual ~ChannelHandler() = default;
  virtual void up(Channel&) {}
  virtual void down(Channel&, DownReason) {}
  virtual void gone(Channel&, const ChannelEnd&) = 0;
  /// `message` is valid during the call. When this returns, it is delivered. Must not throw.
  virtual void received(Channel&, std::span<const std::byte> message) = 0;
  /// There is room again, after a WouldBlock.
  virtual void writable(Channel&) {}
  /// All messages up to this one are delivered.
  virtual void acknowledged(Channel&, std::uint64_t /*number*/) {}
  /// The peer shows or has withdrawn a region.
  virtual void regions_changed(Channel&) {}
};

enum class RegionAccess { Local, RemoteRead, RemoteWrite, RemoteReadWrite };

/// A part of a region that this side registered.
struct LocalPart {
  std::string_view region;
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// Called once: an empty Result when the write is done, or the read's data is there; Gone if nobody will ever
/// know.
using OneSidedDone = std::function<void(const Result<void>&)>;

class ChannelCore;

class Channel {
 public:
  static Result<std::unique_ptr<Channel>> connect(Loop& loop, const SocketAddress& peer,
                                                  const ChannelOptions& options, ChannelHandler& handler,
                                                  const std::optional<SocketAddress>& local = {});
  static Result<std::unique_ptr<Channel>> accept(ConnectionRequest& request, const ChannelOptions& options,
                                                 ChannelHandler& handler);
  ~Channel();  ///< close()
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Copies the message and gives its number. While Down it is kept and sent later. Errors: TooLarge (also
  /// for a peer that takes less; that is known from the first up() on), WouldBlock, Gone.
  Result<std::uint64_t> send(std::span<const std::byte> message);

  /// While paused nothing is delivered, and the peer runs out of credit. What this side sends goes on.
  void pause();
  void unpause();

  /// Names: 1 to 32 bytes, unique on this side; at most 64 regions. Remote access shows it to the peer.
  Result<void> register_region(std::string_view name, void* address, std::size_t length, RegionAccess access);
  /// WouldBlock while one-sided operations of this side use it. Of the peer's, those under way may break the
  /// link; they fail with NoSuchRegion when it is back: agree with the peer first.
  Result<void> withdraw_region(std::string_view name);
  /// A region of the peer's; its length, or nothing if it is not (or no longer) shown.
  [[nodiscard]] std::optional<std::size_t> peer_region(std::string_view name) const;

  /// One-sided. In order with send(): a write that was asked for before a message is done before that message
  /// is delivered. Over a failover, a write that was not known to be done is done again (at least once); so
  /// is a read.
  Result<void> write(const LocalPart& from, std::string_view peer_region, std::size_t offset,
                     OneSidedDone done);
  Result<void> read(std::string_view peer_region, std::size_t offset, const LocalPart& to, OneSidedDone done);

  /// Says goodbye after what was accepted is delivered; gone(Closed) comes then, or after the connection's
  /// time.
  void finish();
  /// At once; gone(Closed) comes before it returns.
  void close();

  [[nodiscard]] ConnectionState state() const;
  [[nodiscard]] const Connection& connection() const;
  [[nodiscard]] std::uint64_t sent() const;           ///< number of the last message accepted by send()
  [[nodiscard]] std::uint64_t acknowledged() const;   ///< number of the last one known to be delivered
  [[nodiscard]] std::uint64_t delivered() const;      ///< number of the last one that was delivered to us
  [[nodiscard]] std::uint64_t resent() const;         ///< messages that went again after a failover
  [[nodiscard]] std::uint32_t message_limit() const;  ///< what the peer takes; 0 before the first up()

 private:
  friend class ChannelCore;
  explicit Channel(std::shared_ptr<ChannelCore> core);
  std::shared_ptr<ChannelCore> core_;
};

}  // namespace rdmove::failover
