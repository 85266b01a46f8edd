// One RDMA CM connection that outlives its device: when the device leaves (a migration, a surprise removal)
// or the peer's does, its verbs objects are destroyed, and made anew when there is a way again. Addresses
// stay the same; queue pair, keys and GID index do not.
//
//   Connecting --> Up --> Down --> Up --> ... --> Gone
//
// A handle; destroying it is close(). Everything on the loop's thread. It may be destroyed inside its own
// callbacks.
#pragma once

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmove/error.hpp"

namespace rdmove::failover {

class Loop;
class ConnectionCore;
class ListenerCore;

/// An IP address and a port.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// `address`: IPv4 or IPv6 as text, with %interface for link-local. Names are not resolved.
  static Result<SocketAddress> parse(std::string_view address, std::uint16_t port);
  static SocketAddress from(const sockaddr* address);

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] SocketAddress with_port(std::uint16_t port) const;
  [[nodiscard]] std::string text() const;  ///< 10.0.0.1:7471, [fd00::1]:7471
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_{};
};

enum class ConnectionState { Connecting, Up, Down, Gone };

enum class DownReason {
  Quiesced,       ///< the agent asked: the device leaves soon
  DeviceRemoved,  ///< it left without a word
  DeviceFatal,    ///< IBV_EVENT_DEVICE_FATAL
  Disconnected,   ///< the peer (or its kernel) said so
  Broken,         ///< a work request failed: the peer's device does not answer
  Replaced,       ///< the peer has called anew
  Requested,      ///< restart() was called
};

enum class GoneReason {
  Closed,         ///< this side called close()
  PeerClosed,     ///< the other side did
  PeerRestarted,  ///< there is a new process at the peer's address
  PeerEnded,      ///< the peer's host answers, and nobody listens any more
  Refused,        ///< the first connect was rejected by the application there, or nobody listened
  WrongPeer,      ///< who answered is not who we were connected with
  Incompatible,   ///< not librdmove, or a version that we do not speak
  TimedOut,       ///< no way for `give_up_after`
};

std::string_view to_text(ConnectionState state);
std::string_view to_text(DownReason reason);
std::string_view to_text(GoneReason reason);

struct Gone {
  GoneReason reason;
  std::string message;
};

struct QueueShape {
  std::uint32_t send_depth = 64;     ///< work requests; one more is made for the keepalive
  std::uint32_t receive_depth = 64;  ///< work requests
  std::uint32_t max_send_sge = 1;
  std::uint32_t max_receive_sge = 1;
  std::uint32_t max_inline = 0;  ///< bytes
};

struct ConnectionOptions {
  QueueShape queues;
  /// Down for this long (not counting the time that our own agent holds us): Gone. Also for the first
  /// connect.
  std::chrono::milliseconds give_up_after{120'000};
  /// After this long with nothing completed, a zero-length RDMA WRITE asks whether the peer's device is
  /// there. 0: never.
  std::chrono::milliseconds keepalive{1'000};
  std::uint8_t ack_timeout = 15;  ///< local ACK timeout, 4.096 us * 2^n (IBA 11.2.5.2)
  std::uint8_t retry_count = 6;   ///< transport retries; 7 never ends on soft-RoCE
  std::uint8_t remote_reads = 4;  ///< RDMA READs and atomics in flight, each way
  /// The peer never sends before a receive is posted here. Otherwise the time after which it tries again is
  /// made shorter (0.32 ms instead of 655 ms), which is one more change of the queue pair each time.
  bool receives_come_first = false;
  /// For the other application's decision, at the first connect only; at most 16 bytes.
  std::vector<std::byte> private_data;
};

class Connection;

/// What the owner is told. Called on the loop's thread; must not throw.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;

  /// A queue pair was made (INIT) and nothing can arrive on it yet: post receives here. If that attempt
  /// fails, the next word is opened() again, of another queue pair: down() comes only after up().
  virtual void opened(Connection&) {}
  /// Connected: sends may be posted.
  virtual void up(Connection&) = 0;
  /// The device will leave: stop posting, and call quiesced() when what matters has completed. At the
  /// deadline it is taken down anyway.
  virtual void quiesce(Connection& connection, std::chrono::steady_clock::time_point deadline);
  /// The queue pair is about to be destroyed; no completion comes any more. What was posted and has not
  /// completed is of unknown fate.
  virtual void down(Connection&, DownReason) = 0;
  /// For good. Last call. After close() it comes with no down() before it.
  virtual void gone(Connection&, const Gone&) = 0;
  /// A work request of the owner's has completed with success. (One that fails takes the connection down.)
  virtual void completed(Connection&, const ibv_wc&) = 0;
  /// All that had completed has been handed over: the moment for what is done once per batch.
  virtual void batch_done(Connection&) {}
};

/// Memory that is registered anew on each device. The key changes: ask for it at each use.
class Region {
 public:
  virtual ~Region() = default;  ///< takes it off the device; nothing posted may use it any more
  [[nodiscard]] virtual void* address() const = 0;
  [[nodiscard]] virtual std::size_t length() const = 0;
  [[nodiscard]] virtual std::uint32_t local_key() const = 0;   ///< 0 while there is no queue pair
  [[nodiscard]] virtual std::uint32_t remote_key() const = 0;  ///< likewise
};

class Connection {
 public:
  /// Reached states come as callbacks; an error here means that nothing was started.
  /// `local`: the persistent address to come from; without it the kernel's choice of the first connect is
  /// kept.
  static Result<std::unique_ptr<Connection>> connect(Loop& loop, const SocketAddress& peer,
                                                     const ConnectionOptions& options,
                                                     ConnectionHandler& handler,
                                                     const std::optional<SocketAddress>& local = {});
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] ConnectionState state() const;
  [[nodiscard]] std::uint64_t id() const;     ///< random; the same on both ends, for life
  [[nodiscard]] std::uint32_t epoch() const;  ///< grows with every queue pair
  [[nodiscard]] SocketAddress local() const;  ///< port 0 unless this side listened
  [[nodiscard]] SocketAddress peer() const;
  [[nodiscard]] std::span<const std::byte> peer_private_data() const;
  [[nodiscard]] std::chrono::milliseconds last_blackout()
      const;  ///< from down() to the next up(), our own clock

  /// Null while Connecting or Down (except in opened()). For looking: what is posted on it directly is not
  /// counted, and may overrun a completion queue that others share.
  [[nodiscard]] ibv_qp* queue_pair() const;
  [[nodiscard]] ibv_pd* protection_domain() const;

  /// ibv_post_send and ibv_post_recv, counted: WouldBlock beyond the depth, until completions are handed
  /// over. wr_id is the caller's, below 2^63. All sends must be signaled.
  Result<void> post_send(ibv_send_wr& first);
  Result<void> post_receive(ibv_recv_wr& first);

  /// `access`: IBV_ACCESS_*. Can be called at any time; the memory must outlive the Region. On a device that
  /// refuses it, the connection goes down and Gone.
  Result<std::unique_ptr<Region>> register_memory(void* address, std::size_t length, int access);

  void quiesced();  ///< the answer to quiesce()
  void restart();   ///< take the queue pair down and connect again
  void close();     ///< for good; gone(Closed) comes before it returns unless it had come

  /// For a layer above that sends messages again: counted in what the agent shows of this program.
  void count_resent(std::uint64_t messages);

 private:
  friend class ConnectionCore;
  friend class ChannelCore;
  explicit Connection(std::shared_ptr<ConnectionCore> core);
  std::shared_ptr<ConnectionCore> core_;
};

/// Somebody who connects for the first time. Answer it in the callback; unanswered, it is rejected.
class ConnectionRequest {
 public:
  class Answer;  // the implementation
  explicit ConnectionRequest(Answer& answer) : answer_(answer) {}
  [[nodiscard]] Answer& answer() { return answer_; }  ///< for the library's own layers

  [[nodiscard]] SocketAddress peer() const;
  [[nodiscard]] std::span<const std::byte> private_data() const;
  Result<std::unique_ptr<Connection>> accept(const ConnectionOptions& options, ConnectionHandler& handler);
  void reject();

 private:
  Answer& answer_;
};

enum class AddressPolicy {
  MustExist,  ///< listen() fails with AddressNotAvailable or NoDevice
  MayCome,    ///< listens as soon as the address is there
};

class ListenerHandler {
 public:
  virtual ~ListenerHandler() = default;
  virtual void requested(ConnectionRequest& request) = 0;
};

/// Accepts first connections on an address. One bound to an IP address dies with its device in the kernel;
/// this one is bound again when the address is back. Calls of known connections do not come here.
class Listener {
 public:
  static Result<std::unique_ptr<Listener>> listen(Loop& loop, const SocketAddress& address,
                                                  ListenerHandler& handler,
                                                  AddressPolicy policy = AddressPolicy::MustExist);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] SocketAddress address() const;  ///< with the port that the kernel chose, if 0 was asked for
  [[nodiscard]] bool is_listening() const;      ///< false while its address is away

 private:
  explicit Listener(std::shared_ptr<ListenerCore> core);
  std::shared_ptr<ListenerCore> core_;
};

}  // namespace rdmove::failover
