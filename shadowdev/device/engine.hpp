// What all parts of the shadow device share: the physical verbs below, the link to peers, and the operations
// on one queue from which control calls, moves and peers' questions are made. Owned by ShadowVerbs. Functions
// that end in _locked want the control lock; the others take the locks of objects.hpp as said there.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>

#include "shadowdev/device/connections.hpp"
#include "shadowdev/device/objects.hpp"
#include "shadowdev/device/peer_link.hpp"
#include "shadowdev/device/peer_message.hpp"
#include "shadowdev/verbs/verbs.hpp"

namespace rdmove::shadow {

/// How often an object is made again because its number is that of another, before that is an error.
inline constexpr int kMostAttempts = 64;

struct ShadowOptions {
  /// Record sends and receives from the start, so that after a surprise each has its own flush error.
  bool records = false;
  /// How long threads may stay inside a provider call when a move begins.
  std::chrono::milliseconds quiesce_within{200};
  /// How long after its move to ERR a QP on an SRQ is waited for to say that it takes no more from there
  /// (LAST_WQE_REACHED). rxe never says it; nothing was under way any more. 0: for ever.
  std::chrono::milliseconds last_wqe_within{0};
  /// How long nothing may have come to a UD QP before it is taken away: what its peers have answered to its
  /// last datagrams, before they were asked to wait, would be lost.
  std::chrono::milliseconds datagram_silence{0};
  /// How long control calls wait for a device that is away; then EBUSY.
  std::chrono::milliseconds control_wait{0};
  std::uint32_t seed = 1;
};

class Engine {
 public:
  Engine(Verbs& below, PeerLink* link, const ShadowOptions& chosen)
      : physical(below), peers(link), options(chosen), random(chosen.seed) {}

  // data_path.cpp: the slow functions
  int send(VirtualQp& qp, ibv_send_wr* wr, ibv_send_wr** bad);
  int receive(VirtualQp& qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
  int receive(VirtualSrq& srq, ibv_recv_wr* wr, ibv_recv_wr** bad);
  int poll(VirtualCq& cq, int entries, ibv_wc* wc);
  int arm(VirtualCq& cq, int solicited_only);
  static void fill_tables(VirtualContext& context);

  // sending.cpp: with qp.lock
  int send_now(VirtualQp& qp, const ibv_send_wr& wr);
  static int hold_send(VirtualQp& qp, const ibv_send_wr& wr);
  std::vector<ibv_wc> release_held(VirtualQp& qp);
  std::vector<ibv_wc> flush_everything(VirtualQp& qp);
  static bool waits(const VirtualQp& qp) { return qp.phase.load() >= Phase::Held; }
  int post_receive(VirtualQp& qp, const ReceiveWork& work);  ///< with receive_lock
  int post_receive(VirtualSrq& srq, const ReceiveWork& work);
  std::uint32_t local_key(VirtualContext& context, std::uint32_t key);
  static std::uint32_t dead_key(VirtualContext& context);
  void pump(VirtualContext& context);  ///< sends that wait for nothing but a try
  void end_doomed(VirtualQp& qp);  ///< a QP whose peer went: once its flushes are in, its program has them
  bool learn_keys(VirtualQp& qp);  ///< asks the peer; no lock held

  // harvest.cpp
  int harvest(VirtualCq& cq);  ///< with cq.lock; completions moved, or -1
  void harvest_queues_of(VirtualQp& qp);
  static void show(VirtualCq& cq, const ibv_wc& wc);  ///< with cq.lock
  static void show_all(VirtualCq& cq, const std::vector<ibv_wc>& all);

  // events.cpp
  void collect(VirtualChannel& channel);
  void collect_async(VirtualContext& context);
  static void raise(VirtualContext& context, ibv_async_event event);
  static void signal(VirtualCq& cq);

  // parking.cpp: one QP on its way out; 0 or an errno, to be called again
  void hold(VirtualQp& qp);
  int grant(VirtualQp& qp);
  int post_marker(VirtualQp& qp);
  [[nodiscard]] static bool drained(VirtualQp& qp);
  [[nodiscard]] bool is_silent(VirtualQp& qp);  ///< UD: nothing has come for a while
  int psns(VirtualQp& qp, std::uint32_t& send, std::uint32_t& receive);
  int freeze(VirtualQp& qp);
  [[nodiscard]] bool is_empty(VirtualQp& qp) const;  ///< with qp.lock
  int take_away(VirtualQp& qp);                      ///< EAGAIN: its queues are not empty yet
  void unhold(VirtualQp& qp);
  void lose(VirtualQp& qp, bool event);
  void revoke(VirtualQp& qp);            ///< takes a grant back
  void end_connection(VirtualQp& qp);    ///< nobody is at its other end any more
  void tell_move_is_off(VirtualQp& qp);  ///< and that our marker is home, once it is; no lock held

  // restoring.cpp: one QP on its way back
  int make(VirtualQp& qp);  ///< to INIT, with its receives
  int connect(VirtualQp& qp, std::uint32_t peer_physical, std::uint32_t receive_psn);
  static void commit(VirtualQp& qp, std::uint32_t peer_epoch, const Pairs& keys);
  void release(VirtualQp& qp);
  ibv_qp* create_physical(VirtualQp& qp, int& error);
  int modify_physical(VirtualQp& qp, ibv_qp_attr attr, ibv_qp_state to);
  /// The same path with the device's own number for the source GID.
  static ibv_ah_attr physical_path(const VirtualContext& context, ibv_ah_attr path);
  /// From the device to itself.
  static ibv_ah_attr own_path(const VirtualContext& context);

  std::optional<Answer> ask(const ibv_gid& from, const ibv_gid& to, const Question& question);
  Pairs keys_of(VirtualQp& qp);
  std::uint32_t random24() { return static_cast<std::uint32_t>(random()) & 0xFFFFFFU; }
  std::uint64_t cookie() { return std::uint64_t{random()} << 32U | random(); }

  Verbs& physical;
  PeerLink* peers;
  Connections* connections = nullptr;  ///< of programs that connect through RDMA CM
  ShadowOptions options;
  std::mutex control;
  std::condition_variable came_back;
  std::vector<VirtualContext*> contexts;
  std::atomic<unsigned> to_pump{0};  ///< something waits for a try
  std::uint64_t refusals = 0;        ///< questions that a peer had no right to ask
  std::mt19937 random;               ///< under the control lock
};

/// Keeps a context from being closed: ibv_close_device() waits. For who goes on without the control lock.
class Pin {
 public:
  /// With the control lock.
  Pin(Engine& engine, VirtualContext& context) : engine_(engine), context_(context) { ++context_.pins; }
  /// Without it.
  ~Pin() {
    const std::lock_guard hold(engine_.control);
    --context_.pins;
    engine_.came_back.notify_all();
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  Engine& engine_;
  VirtualContext& context_;
};

inline VirtualContext& context_of(const ibv_qp& qp) {
  return VirtualContext::of(qp.context);
}

}  // namespace rdmove::shadow
