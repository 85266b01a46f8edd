// Completions on their way from physical CQs to programs: markers and the flushes of a move are kept back,
// numbers are turned into those that programs know.
#include <algorithm>

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {
namespace {

constexpr int kBatch = 16;
constexpr std::size_t kGrh = 40;
constexpr std::size_t kSourceGid = 8;  // in it (IBTA volume 1, 8.3)
constexpr std::size_t kSourceIp =
    32;  // RoCE v2 over IPv4 puts the IP header into the last 20 bytes (annex A17)

bool is_receive(const ibv_wc& wc) {
  return wc.status == IBV_WC_SUCCESS && (wc.opcode & IBV_WC_RECV) != 0;
}

/// Takes what this completion ends out of what is recorded as outstanding.
void settle(VirtualQp& qp, const VirtualCq& cq, const ibv_wc& wc) {
  const bool may_be_send = qp.send_cq == &cq && !is_receive(wc);
  if (may_be_send && wc.status == IBV_WC_SUCCESS) {
    while (!qp.outstanding.empty()) {
      const bool signalled = qp.outstanding.front().signalled;
      qp.outstanding.pop_front();
      if (signalled) return;
    }
    return;
  }
  if (may_be_send) {
    // In error also the unsignalled ones complete; those before it that did not were executed.
    const auto found = std::find_if(qp.outstanding.begin(), qp.outstanding.end(),
                                    [&](const Outstanding& one) { return one.wr_id == wc.wr_id; });
    if (found != qp.outstanding.end()) {
      qp.outstanding.erase(qp.outstanding.begin(), found + 1);
      return;
    }
  }
  if (qp.recv_cq != &cq || qp.srq != nullptr) return;
  const std::lock_guard hold(qp.receive_lock);
  qp.ring.consume();
}

/// UD: who has sent it, as programs know it. The source GID is in the buffer that was received into.
void name_source(VirtualQp& qp, ibv_wc& wc) {
  VirtualContext& context = context_of(qp);
  FarNumber far{{}, wc.src_qp};
  {
    const std::lock_guard hold(qp.receive_lock);
    const ReceiveWork* receive = qp.ring.next();
    if (receive == nullptr || receive->list.empty() || receive->list[0].length < kGrh) return;
    const auto* header = reinterpret_cast<const std::uint8_t*>(receive->list[0].addr);
    if (header[0] >> 4U == 6) {
      std::copy_n(header + kSourceGid, far.gid.size(), far.gid.begin());
    } else {
      far.gid[10] = far.gid[11] = 0xFF;  // ::ffff:a.b.c.d
      std::copy_n(header + kSourceIp, 4, far.gid.begin() + 12);
    }
  }
  const std::shared_lock hold(context.tables);
  const auto found = context.far_programs.find(far);
  if (found != context.far_programs.end()) wc.src_qp = found->second;
}

std::uint32_t program_key(VirtualContext& context, std::uint32_t key) {
  const std::shared_lock hold(context.tables);
  for (const auto& [program, physical] : context.local_keys)
    if (physical == key) return program;
  return key;
}

/// True: it belongs to a move, and no program sees it.
bool keep_back(VirtualQp& qp, const VirtualCq& cq, const ibv_wc& wc) {
  const bool is_marker = wc.wr_id == qp.marker && !is_receive(wc);
  if (is_marker && qp.marker_posted && !qp.marker_done && qp.send_cq == &cq) {
    qp.marker_done = true;
    if (wc.status != IBV_WC_SUCCESS) qp.broken = true;
    return true;
  }
  if (qp.send_cq == &cq && !is_receive(wc) && std::erase(qp.stale_markers, wc.wr_id) != 0) return true;
  if (qp.phase.load() != Phase::Frozen || wc.status != IBV_WC_WR_FLUSH_ERR) return false;
  if (is_marker && qp.receive_marker_posted && qp.recv_cq == &cq) {
    qp.flush_done = true;
    return true;
  }
  if (qp.broken || qp.alone) return false;  // its program gets its flushes
  ++qp.flushed;
  return true;
}

void sort_in(VirtualCq& cq, ibv_wc wc) {
  VirtualContext& context = VirtualContext::of(cq.context);
  VirtualQp* qp = nullptr;
  {
    const std::shared_lock hold(context.tables);
    const auto found = context.by_physical_number.find(wc.qp_num);
    if (found != context.by_physical_number.end()) qp = found->second;
  }
  if (qp == nullptr) return;  // of a QP that was destroyed: providers drop these too
  {
    const std::lock_guard hold(qp->lock);
    qp->quiet = 0;
    if (Engine::waits(*qp)) qp->last_seen = std::chrono::steady_clock::now();
    if (keep_back(*qp, cq, wc)) return;
    if (qp->qp_type == IBV_QPT_UD && is_receive(wc)) name_source(*qp, wc);
    if (qp->records) settle(*qp, cq, wc);
    if (wc.status != IBV_WC_SUCCESS && qp->qp_type != IBV_QPT_UD) qp->broken = true;
  }
  wc.qp_num = qp->qp_num;
  if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) wc.invalidated_rkey = program_key(context, wc.invalidated_rkey);
  Engine::show(cq, wc);
}

}  // namespace

int Engine::harvest(VirtualCq& cq) {
  if (cq.physical == nullptr) return 0;
  ibv_wc batch[kBatch];
  const int got = ibv_poll_cq(cq.physical, kBatch, batch);
  for (int i = 0; i < got; ++i) sort_in(cq, batch[i]);
  return got;
}

void Engine::harvest_queues_of(VirtualQp& qp) {
  auto* send_cq = static_cast<VirtualCq*>(qp.send_cq);
  auto* recv_cq = static_cast<VirtualCq*>(qp.recv_cq);
  for (VirtualCq* cq : {send_cq, recv_cq}) {
    const std::lock_guard hold(cq->lock);
    while (harvest(*cq) > 0) {
    }
    if (send_cq == recv_cq) break;
  }
  if (qp.srq != nullptr) collect_async(context_of(qp));
}

void Engine::show(VirtualCq& cq, const ibv_wc& wc) {
  cq.backlog.push_back(wc);
  signal(cq);
}

void Engine::show_all(VirtualCq& cq, const std::vector<ibv_wc>& all) {
  const std::lock_guard hold(cq.lock);
  for (const ibv_wc& wc : all) show(cq, wc);
}

}  // namespace rdmove::shadow
