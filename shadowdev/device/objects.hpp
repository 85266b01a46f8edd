// The objects that programs hold: each is verbs.h's struct first and the physical one behind a pointer, null
// while there is none. Made and destroyed under the device's control lock; which lock guards what is said at
// the members. Lock order: a context's pump lock, then control, then a CQ's, then a QP's, then a receive
// lock, then a context's tables.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shadowdev/device/gid_table.hpp"
#include "shadowdev/device/receive_ring.hpp"
#include "shadowdev/device/send_ops.hpp"
#include "shadowdev/model/objects.hpp"

namespace rdmove::shadow {

class Engine;
struct VirtualContext;
struct VirtualCq;
using model::Armed;
using model::Phase;
using model::Presence;

/// What a trampoline jumps to instead of a physical object: its context's table leads to the slow functions.
template <class Base, class Owner>
struct Gate : Base {
  Owner* owner = nullptr;
};

struct VirtualPd : ibv_pd {
  ibv_pd* physical = nullptr;
};

struct VirtualMr : ibv_mr {
  ibv_mr* physical = nullptr;
  std::uint64_t iova = 0;
  unsigned access = 0;
};

struct VirtualAh : ibv_ah {
  ibv_ah* physical = nullptr;
  ibv_ah_attr attributes{};
};

struct VirtualChannel : ibv_comp_channel {
  ibv_comp_channel* physical = nullptr;
  int backlog_fd = -1;  ///< in the epoll set: readable while `events` is not empty
  std::mutex lock;
  std::condition_variable acknowledged;
  std::deque<VirtualCq*> events;
};

struct VirtualCq : ibv_cq {
  std::atomic<ibv_cq*> target{nullptr};
  Gate<ibv_cq, VirtualCq> gate;
  ibv_cq* physical = nullptr;
  std::mutex lock;             ///< polling and harvesting, and `backlog`
  std::deque<ibv_wc> backlog;  ///< harvested, in order, before everything that is in the physical CQ
  std::atomic<Armed> armed{Armed::No};
  int vector = 0;
  unsigned users = 0;           ///< under the control lock
  unsigned unacknowledged = 0;  ///< under the channel's lock
};

struct VirtualSrq : ibv_srq {
  ibv_srq* physical = nullptr;
  ibv_srq_attr attributes{};
  std::mutex receive_lock;
  ReceiveRing ring;
  bool holds = false;
  std::deque<ReceiveWork> parked;
  unsigned users = 0;
};

/// A send that the device has and that has not completed.
struct Outstanding {
  std::uint64_t wr_id = 0;
  bool signalled = false;
};

struct VirtualQp : ibv_qp {
  /// What ibv_qp_ex has behind ibv_qp, for those that were made with send operations (send_ops.hpp). First.
  alignas(std::uint64_t) std::byte send_functions[sizeof(ibv_qp_ex) - sizeof(ibv_qp)] = {};
  std::unique_ptr<SendOps> send_ops;
  std::atomic<ibv_qp*> target{nullptr};
  Gate<ibv_qp, VirtualQp> gate;

  std::mutex lock;  ///< all until receive_lock
  ibv_qp* physical = nullptr;
  ibv_qp_init_attr init{};  ///< as the program gave it
  ibv_qp_attr attr{};       ///< what its transitions have said, in the program's numbers
  ibv_gid source{};         ///< of its path: who its peer's shadow takes us for
  int masks[3] = {};        ///< of the transitions to INIT, RTR and RTS, to say the same again
  std::atomic<Phase> phase{Phase::Direct};
  bool translates = false;  ///< keys and numbers differ, or may
  bool moving = false;      ///< its own device leaves, or the peer's
  bool own_move = false;
  bool committed = false;  ///< this move is in `epoch`
  bool held_by_peer = false;
  bool granted = false;           ///< REMOTE_WRITE, for the peer's marker
  ibv_ah* marker_path = nullptr;  ///< UD
  bool marker_posted = false;
  bool receive_marker_posted = false;
  bool error_posted = false;
  bool marker_done = false;
  bool owes_unhold = false;  ///< after a move that was taken back: the peer has not answered yet
  bool owes_revoke = false;  ///< after a move that was taken back: the peer may take its grant back when our
                             ///< marker has come home
  std::vector<std::uint64_t> stale_markers;  ///< of moves that were taken back, still on their way
  bool broken = false;                       ///< it failed by itself: what its peer holds cannot be agreed on
  bool alone = false;   ///< nobody shadows its peer, or its peer is not connected to it yet
  bool doomed = false;  ///< its peer's device went while it was being frozen: it is lost when it is empty
  bool lost = false;    ///< in ERR without a physical QP, until RESET
  unsigned quiet = 0;   ///< rounds without a completion, of one that cannot say when it is empty
  std::chrono::steady_clock::time_point error_since{};
  std::chrono::steady_clock::time_point last_seen{};  ///< a completion, or the begin of the move
  std::uint64_t marker = 0;  ///< wr_id of both markers: random, so that it is no wr_id of the program
  bool flush_done = false;
  std::size_t flushed = 0;
  std::deque<SendWork> held;
  std::deque<Outstanding> outstanding;  ///< where sends are recorded
  bool records = false;
  std::unordered_map<std::uint32_t, std::uint32_t> remote_keys;
  model::Epoch epoch{};
  model::Epoch peer_epoch{};
  std::uint32_t peer_physical = 0;
  std::uint32_t send_psn = 0, receive_psn = 0;   ///< physical, of the last connection
  std::optional<std::uint32_t> agreed_send_psn;  ///< for a program that goes to RTS only after a move
  std::optional<std::uint32_t> asking;           ///< a remote key that is not known yet
  unsigned failures = 0;

  std::mutex receive_lock;
  ReceiveRing ring;
  bool holds_receives = false;
  std::deque<ReceiveWork> parked_receives;
};

/// A QP of somebody else by the GID that was proven and the number that programs use.
struct FarNumber {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t number = 0;
  auto operator<=>(const FarNumber&) const = default;
};

struct VirtualContext : verbs_context {
  Engine* engine = nullptr;
  ibv_device shown{};  ///< a private copy: a vendor's library must not take it for its own
  ibv_context slow{};  ///< the context of all gates
  ibv_context* physical = nullptr;
  std::string name;
  std::uint64_t guid = 0;  ///< in network order, as libibverbs says it
  int index = -1;
  bool of_rdma_cm = false;          ///< librdmacm has opened it, for all of its ids
  ibv_pd* pd_of_rdma_cm = nullptr;  ///< and shows it to programs
  GidTable gids;
  Presence presence = Presence::Live;
  bool moving = false;
  unsigned pins = 0;  ///< it may not be closed: somebody works with it outside of the control lock (Pin)
  bool ready = true;  ///< peers may connect: all but QPs has its physical object, and stays
  std::uint32_t moves = 0;
  bool numbers_differ = false;  ///< a QP was made again: its number is not the physical one
  ibv_device_attr device_attributes{};
  ibv_port_attr port_attributes{};

  std::vector<VirtualPd*> pds;
  std::vector<VirtualMr*> mrs;
  std::vector<VirtualChannel*> channels;
  std::vector<VirtualCq*> cqs;
  std::vector<VirtualSrq*> srqs;
  std::vector<VirtualAh*> ahs;
  std::vector<VirtualQp*> qps;

  std::mutex pump_lock;  ///< whoever goes through the QPs without the control lock, which is taken after it
  std::shared_mutex tables;
  std::unordered_map<std::uint32_t, VirtualQp*> by_physical_number;
  std::unordered_map<std::uint32_t, std::uint32_t> local_keys;  ///< lkey of the program -> physical
  std::unordered_set<std::uint32_t> physical_keys;
  std::unordered_set<std::uint32_t> retired_keys;  ///< must not come back as something else
  std::unordered_set<std::uint32_t> retired_numbers;
  std::map<FarNumber, std::uint32_t> far_numbers;   ///< UD: program's -> physical
  std::map<FarNumber, std::uint32_t> far_programs;  ///< UD: physical -> program's
  /// UD: whose device is away, and until when that is believed; by GID, with number 0.
  std::map<FarNumber, std::chrono::steady_clock::time_point> away;

  std::mutex async_lock;
  int async_backlog_fd = -1;
  std::deque<ibv_async_event> async_events;

  static VirtualContext& of(ibv_context* context) {
    return *static_cast<VirtualContext*>(verbs_get_ctx(context));
  }
};

/// Whether a context is one of the shadow's, and so all objects on it: the data path leads there.
bool is_virtual(const ibv_context& context);

}  // namespace rdmove::shadow
