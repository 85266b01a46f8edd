// The devices and RDMA CM as connections see them: what cm/ implements over librdmacm and libibverbs, and
// tests fake. The loop's thread, but for what the reaper is given to destroy.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "guestagent/failover/connection/clock.hpp"
#include "guestagent/failover/connection/memory_pool.hpp"
#include "rdmove/connection.hpp"
#include "rdmove/error.hpp"

namespace rdmove::failover::conn {

/// How a call fails when the address or its device is away: again later.
inline bool is_no_way(ErrorCode code) {
  return code == ErrorCode::AddressNotAvailable || code == ErrorCode::NoDevice;
}

/// Never used twice in a process, so that a late event finds nobody instead of somebody else.
enum class EndpointNumber : std::uint64_t { none = 0 };
/// The same while a device stays; one that returns has another.
enum class DeviceNumber : std::uint64_t { none = 0 };

class Device;

/// The words and numbers of a request or of its answer.
struct CallWords {
  std::span<const std::byte> private_data;
  std::uint8_t retry_count = 6;
  std::uint8_t ack_timeout = 15;
  std::uint8_t remote_reads = 4;
};

/// One id of RDMA CM and, once there is one, its queue pair with its memory regions.
/// Destroying it takes all of that down, in the order that ends, and may block for 50 s: the reaper does it.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  [[nodiscard]] virtual EndpointNumber number() const = 0;
  [[nodiscard]] virtual DeviceNumber device() const = 0;
  [[nodiscard]] virtual SocketAddress local() const = 0;
  [[nodiscard]] virtual SocketAddress peer() const = 0;

  virtual Result<void> bind(const SocketAddress& address) = 0;
  virtual Result<void> listen(int backlog) = 0;
  virtual Result<void> resolve_address(const std::optional<SocketAddress>& from, const SocketAddress& to,
                                       Milliseconds limit) = 0;
  virtual Result<void> resolve_route(Milliseconds limit) = 0;
  virtual Result<void> connect(const CallWords& words) = 0;
  virtual Result<void> accept(const CallWords& words) = 0;
  virtual void reject(std::span<const std::byte> private_data) = 0;
  virtual void disconnect() = 0;  ///< the queue pair goes to ERR in any case

  virtual Result<void> make_queue(const std::shared_ptr<Device>& device, const QueueShape& shape) = 0;
  [[nodiscard]] virtual ibv_qp* queue_pair() const = 0;
  /// Owned by the endpoint.
  virtual Result<ibv_mr*> register_memory(void* address, std::size_t length, int access) = 0;
  virtual void deregister(ibv_mr* region) = 0;
  /// The registration of the piece's chunk, which is the device's: local access only. The piece is kept until
  /// the queue pair is destroyed.
  virtual Result<ibv_mr*> use_memory(const std::shared_ptr<MemoryPiece>& piece) = 0;
  /// RDMA CM's default has a sender wait 655 ms when the receiver is not ready. Devices that refuse keep it.
  virtual void shorten_rnr_timer() = 0;
  /// Its own completions, in their order.
  virtual int poll(std::span<ibv_wc> completions) = 0;
  virtual Result<void> post_send(ibv_send_wr& first) = 0;
  virtual Result<void> post_receive(ibv_recv_wr& first) = 0;
};

enum class AsyncKind { DeviceFatal, QueueFatal, Other };
struct AsyncEvent {
  AsyncKind kind = AsyncKind::Other;
  EndpointNumber endpoint = EndpointNumber::none;  ///< of QueueFatal
};

/// What the connections of a loop share on a device: protection domain, completion queues and their channel,
/// the registrations of shared memory.
/// Events are acknowledged when they are taken. Destroyed by the reaper, after the last endpoint that uses
/// it.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual int completion_fd() const = 0;
  [[nodiscard]] virtual int async_fd() const = 0;
  [[nodiscard]] virtual ibv_pd* protection_domain() const = 0;
  /// One for which completions have come that it was not named for yet. None: the end of a round; if more
  /// has come, completion_fd() is readable.
  virtual std::optional<EndpointNumber> take_completion_event() = 0;
  virtual std::optional<AsyncEvent> take_async_event() = 0;
};

enum class CmEventKind {
  AddressResolved,
  RouteResolved,
  ConnectRequest,
  Established,
  Failed,    ///< resolving, or nobody answered; status says more
  Rejected,  ///< status is the reason
  Disconnected,
  DeviceRemoval,
  Other,
};

struct CmEvent {
  CmEventKind kind = CmEventKind::Other;
  int status = 0;
  EndpointNumber endpoint = EndpointNumber::none;  ///< of ConnectRequest: the listening one
  std::unique_ptr<Endpoint> incoming;              ///< of ConnectRequest
  std::vector<std::byte> private_data;
  std::uint8_t remote_reads = 0;  ///< of ConnectRequest: what the peer can take
};

class RdmaPort {
 public:
  virtual ~RdmaPort() = default;
  /// NoDevice while the machine has none; may be called again.
  virtual Result<void> open() = 0;
  [[nodiscard]] virtual int fd() const = 0;         ///< -1 until open
  virtual std::optional<CmEvent> take_event() = 0;  ///< taken and acknowledged
  virtual Result<std::unique_ptr<Endpoint>> make_endpoint() = 0;
  virtual Result<std::shared_ptr<Device>> open_device(const Endpoint& on_it) = 0;
  /// Something of this loop's is there, until it is released or let go of. The context is the process', and
  /// other loops may hold it as well.
  virtual void hold(DeviceNumber device) = 0;
  virtual void release(DeviceNumber device) = 0;
  /// librdmacm closes the contexts of devices that have left, and opens those that have come. The loop's
  /// thread.
  virtual void let_go_of_devices() = 0;
  /// The same, for one that has left and on which nothing of ours is any more; also if no other device is
  /// there. When other loops hold it, the last of them does that.
  virtual void let_go_of(DeviceNumber device) = 0;
};

}  // namespace rdmove::failover::conn
