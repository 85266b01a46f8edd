// One queue pair on its way back.
#include <algorithm>
#include <cerrno>

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {
ibv_qp* Engine::create_physical(VirtualQp& qp, int& error) {
  const auto physical_cq = [](ibv_cq* cq) { return static_cast<VirtualCq*>(cq)->physical; };
  ibv_qp_init_attr init = qp.init;
  init.qp_context = &qp;
  init.send_cq = physical_cq(qp.send_cq);
  init.recv_cq = physical_cq(qp.recv_cq);
  init.srq = qp.srq == nullptr ? nullptr : static_cast<VirtualSrq*>(qp.srq)->physical;
  ++init.cap.max_send_wr;  // for the markers
  if (qp.srq == nullptr) {
    ++init.cap.max_recv_wr;
    init.cap.max_recv_sge = std::max(init.cap.max_recv_sge, 1U);
  }
  ibv_qp* made = physical.create_qp(static_cast<VirtualPd*>(qp.pd)->physical, &init);
  error = made == nullptr ? errno : 0;
  return made;
}

int Engine::modify_physical(VirtualQp& qp, ibv_qp_attr attr, ibv_qp_state to) {
  const int mask = qp.masks[to - IBV_QPS_INIT];
  attr.qp_state = to;
  if (qp.physical->state == to) return 0;
  attr.ah_attr = physical_path(context_of(qp), attr.ah_attr);
  return physical.modify_qp(qp.physical, &attr, mask | IBV_QP_STATE);
}

ibv_ah_attr Engine::physical_path(const VirtualContext& context, ibv_ah_attr path) {
  if (path.is_global != 0) path.grh.sgid_index = context.gids.physical(path.grh.sgid_index);
  return path;
}

ibv_ah_attr Engine::own_path(const VirtualContext& context) {
  ibv_ah_attr path{};
  const std::uint32_t index = context.gids.to_itself();
  if (const ibv_gid_entry* own = context.gids.at(index)) path.grh.dgid = own->gid;
  path.is_global = 1;
  path.grh.sgid_index = static_cast<std::uint8_t>(index);
  path.grh.hop_limit = 1;
  path.port_num = 1;
  return physical_path(context, path);
}

int Engine::make(VirtualQp& qp) {
  VirtualContext& context = context_of(qp);
  const std::lock_guard hold(qp.lock);
  if (qp.lost) return 0;
  if (qp.physical == nullptr) {
    int error = 0;
    ibv_qp* made = create_physical(qp, error);
    if (made == nullptr) return error;
    qp.physical = made;
    const std::unique_lock tables(context.tables);
    context.by_physical_number[made->qp_num] = &qp;
  }
  context.numbers_differ = true;
  qp.translates = true;
  qp.records = true;  // completions are looked at anyway
  if (qp.attr.qp_state == IBV_QPS_RESET) return 0;
  if (qp.physical->state == IBV_QPS_RESET)
    if (const int error = modify_physical(qp, qp.attr, IBV_QPS_INIT)) return error;
  const std::lock_guard receives(qp.receive_lock);
  if (qp.ring.counted() == 0 && qp.srq == nullptr) qp.ring.set_depth(qp.init.cap.max_recv_wr + 1);
  while (!qp.parked_receives.empty()) {
    if (const int error = post_receive(qp, qp.parked_receives.front())) return error;
    qp.parked_receives.pop_front();
  }
  qp.holds_receives = false;
  return 0;
}

int Engine::connect(VirtualQp& qp, std::uint32_t peer_physical, std::uint32_t receive_psn) {
  const std::lock_guard hold(qp.lock);
  if (qp.lost || qp.attr.qp_state < IBV_QPS_RTR || qp.attr.qp_state == IBV_QPS_ERR) return 0;
  qp.peer_physical = peer_physical;
  qp.receive_psn = receive_psn;
  ibv_qp_attr attr = qp.attr;
  attr.dest_qp_num = peer_physical;
  attr.rq_psn = receive_psn;
  attr.sq_psn = qp.send_psn;
  if (qp.physical->state == IBV_QPS_INIT)
    if (const int error = modify_physical(qp, attr, IBV_QPS_RTR)) return error;
  if (qp.attr.qp_state == IBV_QPS_RTS) return modify_physical(qp, attr, IBV_QPS_RTS);
  qp.agreed_send_psn =
      qp.send_psn;  // its program goes to RTS later, with a PSN that the peer does not expect
  return 0;
}

void Engine::commit(VirtualQp& qp, std::uint32_t peer_epoch, const Pairs& keys) {
  const std::lock_guard hold(qp.lock);
  if (qp.own_move && !qp.committed) qp.epoch = model::Epoch{static_cast<std::uint32_t>(qp.epoch) + 1};
  qp.committed = true;
  qp.peer_epoch = model::Epoch{peer_epoch};
  qp.remote_keys.clear();
  for (const auto& [program, now] : keys) qp.remote_keys[program] = now;
}

void Engine::release(VirtualQp& qp) {
  std::vector<ibv_wc> failed;
  {
    const std::lock_guard hold(qp.lock);
    if (qp.lost) return;
    qp.phase = Phase::Translated;
    qp.moving = qp.own_move = qp.held_by_peer = qp.granted = false;
    qp.marker_posted = qp.marker_done = false;
    failed = release_held(qp);
  }
  if (!failed.empty()) show_all(*static_cast<VirtualCq*>(qp.send_cq), failed);
}

std::optional<Answer> Engine::ask(const ibv_gid& from, const ibv_gid& to, const Question& question) {
  if (peers == nullptr) return std::nullopt;
  const auto bytes = peers->ask(from, to, encode(question));
  if (!bytes) return std::nullopt;
  auto answer = decode_answer(*bytes);
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

Pairs Engine::keys_of(VirtualQp& qp) {
  VirtualContext& context = context_of(qp);
  Pairs all;
  for (const VirtualMr* mr : context.mrs) {
    if (all.size() == kMostPairs) break;
    if (mr->pd == qp.pd && mr->physical != nullptr) all.emplace_back(mr->rkey, mr->physical->rkey);
  }
  return all;
}

}  // namespace rdmove::shadow
