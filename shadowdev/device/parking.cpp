// One queue pair on its way out: hold, marker, agreement, ERR, harvest, away. Every step may be called again
// until it says 0.
#include <algorithm>
#include <cerrno>

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {
namespace {

/// Rounds without a completion after which a QP that cannot be asked counts as empty.
constexpr unsigned kQuietRounds = 64;
/// Likewise, of one on an SRQ from which nothing says that it has taken the last.
constexpr unsigned kQuietWithoutEvent = 2;

bool is_connected(const VirtualQp& qp) {
  return qp.attr.qp_state == IBV_QPS_RTR || qp.attr.qp_state == IBV_QPS_RTS;
}

}  // namespace

void Engine::hold(VirtualQp& qp) {
  for (ibv_cq* shown : {qp.send_cq, qp.recv_cq}) {
    auto* cq = static_cast<VirtualCq*>(shown);
    cq->target.store(&cq->gate, std::memory_order_release);
  }
  const std::lock_guard hold(qp.lock);
  qp.target.store(&qp.gate, std::memory_order_release);
  if (waits(qp) || qp.lost) return;
  qp.phase = Phase::Held;
  qp.moving = true;
  if (qp.marker_posted && !qp.marker_done) qp.stale_markers.push_back(qp.marker);
  qp.owes_revoke = false;
  qp.marker = cookie();
  qp.marker_posted = qp.marker_done = qp.receive_marker_posted = qp.error_posted = qp.flush_done = false;
  qp.flushed = 0;
  qp.quiet = 0;
  qp.last_seen = std::chrono::steady_clock::now();
}

int Engine::grant(VirtualQp& qp) {
  const std::lock_guard hold(qp.lock);
  if (qp.granted || qp.qp_type == IBV_QPT_UD || !is_connected(qp) || qp.physical == nullptr) return 0;
  // A peer with access flags 0, as the pingpong programs have, would answer the marker with an error that
  // puts both QPs in ERR. RTR to RTR is no transition: a QP that does not send yet has its program's flags.
  if (qp.attr.qp_state != IBV_QPS_RTS || (qp.attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0) return 0;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.qp_access_flags = qp.attr.qp_access_flags | IBV_ACCESS_REMOTE_WRITE;
  const int error = physical.modify_qp(qp.physical, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
  qp.granted = error == 0;
  return error;
}

int Engine::post_marker(VirtualQp& qp) {
  const std::lock_guard hold(qp.lock);
  if (qp.marker_posted || qp.attr.qp_state != IBV_QPS_RTS || qp.physical == nullptr) return 0;
  ibv_send_wr wr{};
  wr.wr_id = qp.marker;
  wr.opcode = IBV_WR_RDMA_WRITE;  // 0 bytes: nobody looks at its key
  wr.send_flags = IBV_SEND_SIGNALED;
  if (qp.qp_type == IBV_QPT_UD) {
    // To itself with a wrong Q_Key: it is dropped without a word (IBTA volume 1, 9.6.1.4.1).
    if (qp.marker_path == nullptr) {
      ibv_ah_attr self = own_path(context_of(qp));
      qp.marker_path = physical.create_ah(static_cast<VirtualPd*>(qp.pd)->physical, &self);
      if (qp.marker_path == nullptr) return errno;
    }
    wr.opcode = IBV_WR_SEND;
    wr.wr.ud = {qp.marker_path, qp.physical->qp_num, qp.attr.qkey ^ 1U};
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp.physical, &wr, &bad);
  qp.marker_posted = error == 0;
  return error;
}

bool Engine::drained(VirtualQp& qp) {
  const std::lock_guard hold(qp.lock);
  return qp.attr.qp_state != IBV_QPS_RTS || qp.marker_done || qp.physical == nullptr;
}

bool Engine::is_silent(VirtualQp& qp) {
  const std::lock_guard hold(qp.lock);
  return std::chrono::steady_clock::now() - qp.last_seen >= options.datagram_silence;
}

int Engine::psns(VirtualQp& qp, std::uint32_t& send, std::uint32_t& receive) {
  const std::lock_guard hold(qp.lock);
  if (qp.physical == nullptr) return EINVAL;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  const int error = physical.query_qp(qp.physical, &attr, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init);
  send = attr.sq_psn;
  receive = attr.rq_psn;
  return error;
}

int Engine::freeze(VirtualQp& qp) {
  const std::lock_guard hold(qp.lock);
  if (qp.physical == nullptr || qp.error_posted) return 0;
  const bool takes_receives = qp.srq == nullptr && qp.attr.qp_state != IBV_QPS_RESET;
  {
    const std::lock_guard receives(qp.receive_lock);
    qp.holds_receives = true;
    if (takes_receives && !qp.receive_marker_posted) {
      ibv_recv_wr wr{qp.marker, nullptr, nullptr, 0};
      ibv_recv_wr* bad = nullptr;
      if (const int error = ibv_post_recv(qp.physical, &wr, &bad)) return error;
      qp.receive_marker_posted = true;
    }
  }
  // Before RTR nothing was taken from an SRQ, and nothing says so.
  qp.flush_done = qp.attr.qp_state == IBV_QPS_RESET || (qp.srq != nullptr && !is_connected(qp));
  qp.phase = Phase::Frozen;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  const int error = physical.modify_qp(qp.physical, &attr, IBV_QP_STATE);
  qp.error_posted = error == 0;
  qp.error_since = std::chrono::steady_clock::now();
  return error;
}

bool Engine::is_empty(VirtualQp& qp) const {
  // It was in ERR before our marker receive: nothing says when its queues are empty.
  if (qp.broken) return ++qp.quiet >= kQuietRounds;
  if (qp.flush_done || qp.srq == nullptr || options.last_wqe_within.count() == 0) return qp.flush_done;
  const bool had_its_time = std::chrono::steady_clock::now() - qp.error_since >= options.last_wqe_within;
  return ++qp.quiet >= kQuietWithoutEvent && had_its_time;
}

int Engine::take_away(VirtualQp& qp) {
  harvest_queues_of(qp);
  bool lost = false;
  std::vector<ibv_wc> flushes;
  VirtualContext& context = context_of(qp);
  {
    const std::lock_guard hold(qp.lock);
    if (qp.phase.load() == Phase::Parked) return 0;
    if (!is_empty(qp)) return EAGAIN;
    if (connections != nullptr)
      if (const int error = connections->retire(qp)) return error;
    if (qp.marker_path != nullptr) {
      if (const int error = physical.destroy_ah(qp.marker_path)) return error;
      qp.marker_path = nullptr;
    }
    const std::uint32_t number = qp.physical->qp_num;
    if (const int error = physical.destroy_qp(qp.physical)) return error;
    qp.physical = nullptr;
    {
      const std::unique_lock tables(context.tables);
      context.by_physical_number.erase(number);
    }
    const std::lock_guard receives(qp.receive_lock);
    if (qp.broken || qp.alone || qp.attr.qp_state == IBV_QPS_ERR) {
      qp.lost = lost = true;
      qp.attr.qp_state = qp.state = IBV_QPS_ERR;
      flushes = flush_everything(qp);
      qp.parked_receives.clear();
    } else if (qp.srq == nullptr) {
      const auto left = qp.ring.last(qp.flushed);
      qp.parked_receives.insert(qp.parked_receives.begin(), left.begin(), left.end());
    }
    qp.outstanding.clear();
    qp.ring.clear();
    qp.granted = qp.committed = qp.owes_unhold = false;
    qp.send_psn = random24();  // fresh, and the same in whatever order the ends meet again
    qp.remote_keys.clear();    // what they were is no longer true
    qp.phase = Phase::Parked;
  }
  if (!flushes.empty()) show_all(*static_cast<VirtualCq*>(qp.send_cq), flushes);
  if (lost) end_connection(qp);
  return 0;
}

void Engine::end_connection(VirtualQp& qp) {
  if (connections != nullptr) connections->ended(qp);
}

void Engine::unhold(VirtualQp& qp) {
  std::vector<ibv_wc> failed;
  {
    const std::lock_guard hold(qp.lock);
    if (qp.phase.load() != Phase::Held || qp.own_move || qp.held_by_peer) return;
    qp.moving = false;
    // Our marker may still be on its way: were the peer's grant taken back now, it would put both QPs in ERR.
    qp.owes_revoke = qp.qp_type != IBV_QPT_UD;
    ++to_pump;
    qp.phase = Phase::Translated;  // the marker may still come: completions are looked at from here on
    failed = release_held(qp);
  }
  if (connections != nullptr) connections->exhume(qp);
  if (!failed.empty()) show_all(*static_cast<VirtualCq*>(qp.send_cq), failed);
}

void Engine::revoke(VirtualQp& qp) {
  const std::lock_guard hold(qp.lock);
  if (!qp.granted || qp.physical == nullptr || waits(qp)) return;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.qp_access_flags = qp.attr.qp_access_flags;
  // One that cannot be taken back lets empty writes in, and keys still guard memory: no reason to fail.
  qp.granted = physical.modify_qp(qp.physical, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS) != 0;
}

void Engine::lose(VirtualQp& qp, bool event) {
  std::vector<ibv_wc> sends;
  std::vector<ibv_wc> receives;
  {
    const std::lock_guard hold(qp.lock);
    if (qp.lost || qp.attr.qp_state == IBV_QPS_RESET) return;
    sends = flush_everything(qp);
    const std::lock_guard also(qp.receive_lock);
    const auto flush = [&](const ReceiveWork& one) {
      ibv_wc wc{};
      wc.wr_id = one.wr_id;
      wc.status = IBV_WC_WR_FLUSH_ERR;
      wc.qp_num = qp.qp_num;
      receives.push_back(wc);
    };
    if (qp.records && qp.srq == nullptr)
      for (const ReceiveWork& one : qp.ring.last(qp.ring.counted())) flush(one);
    for (const ReceiveWork& one : qp.parked_receives) flush(one);
    qp.parked_receives.clear();
    qp.ring.clear();
    qp.holds_receives = true;
    qp.lost = true;
    qp.attr.qp_state = qp.state = IBV_QPS_ERR;
    qp.phase = Phase::Parked;
  }
  show_all(*static_cast<VirtualCq*>(qp.send_cq), sends);
  show_all(*static_cast<VirtualCq*>(qp.recv_cq), receives);
  if (!event) return;
  ibv_async_event fatal{{}, IBV_EVENT_QP_FATAL};
  fatal.element.qp = &qp;
  raise(context_of(qp), fatal);
}

}  // namespace rdmove::shadow
