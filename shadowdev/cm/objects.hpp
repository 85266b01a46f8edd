// The event channels and ids of RDMA CM that programs hold: each is rdma_cma.h's struct first and librdmacm's
// own object behind a pointer, null while there is none. Of a connection that has moved there is none any
// more: the kernel has forgotten it, and its end is told between shadows.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shadowdev/device/objects.hpp"
#include "shadowdev/device/peer_message.hpp"
#include "shadowdev/verbs/cm_calls.hpp"

namespace rdmove::shadow {

struct VirtualId;

/// A copy of librdmacm's event, which is acknowledged at once, or one of our own.
struct CmEvent : rdma_cm_event {
  std::array<std::byte, 256> data;  ///< private data, of which a message has at most 255 bytes
  VirtualId* counted = nullptr;     ///< whose destruction waits for the acknowledgement
};

struct CmChannel : rdma_event_channel {
  rdma_event_channel* physical = nullptr;
  bool own = true;      ///< false: librdmacm has made it for one synchronous id
  int backlog_fd = -1;  ///< in the epoll set: readable while `ready` is not empty
  std::mutex reading;   ///< from looking at the physical one to the acknowledgement
  std::mutex lock;      ///< `ready`
  std::deque<std::unique_ptr<CmEvent>> ready;
};

enum class CmState : std::uint8_t {
  Idle,
  Bound,
  Resolved,
  Routed,
  Listening,
  Requested,   ///< somebody wants to connect, and has no answer yet
  Connecting,  ///< from rdma_connect() or rdma_accept() to ESTABLISHED
  Connected,
  Leaving,  ///< from rdma_disconnect() to DISCONNECTED
  Over,
};

struct CmOption {
  int level = 0;
  int name = 0;
  std::vector<std::byte> value;
};

/// A connection's end that its peer's shadow has yet to hear of.
struct Farewell {
  ibv_gid from{};
  ibv_gid to{};
  Question question;
};

struct VirtualId : rdma_cm_id {
  std::mutex call;  ///< one call of librdmacm at a time; all until the next mutex
  rdma_cm_id* physical = nullptr;
  CmChannel* events = nullptr;
  bool synchronous = false;
  std::vector<CmOption> options;
  int backlog = 0;
  sockaddr_storage bound{};  ///< as the program bound it
  std::vector<ibv_sa_path_rec> paths;
  std::optional<ibv_qp_init_attr> passive;  ///< rdma_create_ep(): for QPs of those who come

  std::atomic<CmState> state{CmState::Idle};
  std::atomic<bool> buried{false};
  std::atomic<bool> to_exhume{false};
  std::atomic<bool> heard_end{false};    ///< while buried
  std::atomic<std::uint32_t> number{0};  ///< of its QP, if the program has made that without us
  bool unsaid = false;                   ///< rdma_disconnect() was called, and the kernel was not asked
  bool behind_data = false;              ///< and its QP was held then
  std::chrono::steady_clock::time_point leaving_since{};
  std::chrono::steady_clock::time_point looked_at{};  ///< the control thread's, and the next
  unsigned missed = 0;                                ///< how often nobody was at its other end

  // Under ShadowCm's lock.
  std::optional<Farewell> farewell;  ///< of a QP that was destroyed before its id
  unsigned pins = 0;                 ///< events that are not acknowledged, and whoever works with it
};

}  // namespace rdmove::shadow
