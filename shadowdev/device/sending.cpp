// Work on its way to the physical device, when keys and numbers are not the physical ones.
#include <algorithm>
#include <cerrno>

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {
namespace {

constexpr int kMostEntries = 32;
constexpr unsigned kMostTries = 8;

bool takes_remote_key(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_RDMA_READ;
}
bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/// The remote key in a request, wherever its kind has it, or null.
std::uint32_t* remote_key(ibv_send_wr& wr) {
  if (takes_remote_key(wr.opcode)) return &wr.wr.rdma.rkey;
  if (is_atomic(wr.opcode)) return &wr.wr.atomic.rkey;
  return wr.opcode == IBV_WR_SEND_WITH_INV ? &wr.invalidate_rkey : nullptr;
}

FarNumber far(const ibv_ah* ah, std::uint32_t number) {
  FarNumber far{{}, number};
  std::copy_n(static_cast<const VirtualAh*>(ah)->attributes.grh.dgid.raw, 16, far.gid.begin());
  return far;
}

bool is_away(VirtualContext& context, const ibv_ah* ah) {
  const std::shared_lock hold(context.tables);
  if (context.away.empty()) return false;
  const auto found = context.away.find(far(ah, 0));
  return found != context.away.end() && std::chrono::steady_clock::now() < found->second;
}

}  // namespace

std::uint32_t Engine::dead_key(VirtualContext& context) {
  std::uint32_t key = 0xFFFFFFFF;  // with `tables`
  while (context.physical_keys.contains(key)) --key;
  return key;
}

std::uint32_t Engine::local_key(VirtualContext& context, std::uint32_t key) {
  const std::shared_lock hold(context.tables);
  const auto found = context.local_keys.find(key);
  // Total: falling through to the number itself could hit another region's new key.
  return found == context.local_keys.end() ? dead_key(context) : found->second;
}

int Engine::send_now(VirtualQp& qp, const ibv_send_wr& wr) {
  if (qp.physical == nullptr) return EINVAL;
  ibv_send_wr copy = wr;
  copy.next = nullptr;
  ibv_sge list[kMostEntries];
  if (wr.num_sge > kMostEntries) return EINVAL;
  VirtualContext& context = context_of(qp);
  if (qp.translates) {
    if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
      for (int i = 0; i < wr.num_sge; ++i) {
        list[i] = wr.sg_list[i];
        list[i].lkey = local_key(context, list[i].lkey);
      }
      copy.sg_list = list;
    }
    if (std::uint32_t* key = remote_key(copy)) {
      const auto found = qp.remote_keys.find(*key);
      if (found == qp.remote_keys.end()) {
        qp.asking = *key;  // this queue waits until the peer has said what it is
        ++to_pump;
        return hold_send(qp, wr);
      }
      *key = found->second;
    }
  }
  if (qp.qp_type == IBV_QPT_UD) {
    if (is_away(context, wr.wr.ud.ah)) {
      ++to_pump;  // until it is back, or nobody believes that any more
      return hold_send(qp, wr);
    }
    copy.wr.ud.ah = static_cast<const VirtualAh*>(wr.wr.ud.ah)->physical;
    const std::shared_lock hold(context.tables);
    const auto found = context.far_numbers.find(far(wr.wr.ud.ah, wr.wr.ud.remote_qpn));
    if (found != context.far_numbers.end()) copy.wr.ud.remote_qpn = found->second;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp.physical, &copy, &bad);
  if (error == 0 && qp.records)
    qp.outstanding.push_back({wr.wr_id, qp.init.sq_sig_all != 0 || (wr.send_flags & IBV_SEND_SIGNALED) != 0});
  return error;
}

int Engine::hold_send(VirtualQp& qp, const ibv_send_wr& wr) {
  if (qp.attr.qp_state != IBV_QPS_RTS || wr.num_sge > static_cast<int>(qp.init.cap.max_send_sge))
    return EINVAL;
  if (wr.opcode > IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV || wr.opcode == IBV_WR_BIND_MW)
    return EOPNOTSUPP;
  if (qp.held.size() >= qp.init.cap.max_send_wr) return ENOMEM;
  SendWork work(wr);
  if (work.is_inline() && work.inlined().size() > qp.init.cap.max_inline_data) return EINVAL;
  qp.held.push_back(std::move(work));
  return 0;
}

std::vector<ibv_wc> Engine::release_held(VirtualQp& qp) {
  while (!qp.held.empty() && !waits(qp) && !qp.lost) {
    SendWork work = std::move(qp.held.front());
    qp.held.pop_front();
    const auto before = qp.held.size();
    const int error = send_now(qp, work.request());
    if (qp.held.size() > before) {  // it waits for a key again: back to its place
      qp.held.pop_back();
      qp.held.push_front(std::move(work));
      return {};
    }
    if (error == 0) {
      qp.failures = 0;
      continue;
    }
    if (error != ENOMEM && ++qp.failures > kMostTries) {
      // The queue does not take it: what is before it completes, and from here on everything is flushed.
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_ERR;
      physical.modify_qp(qp.physical, &attr, IBV_QP_STATE);
      qp.held.push_front(std::move(work));
      std::vector<ibv_wc> all;
      for (const SendWork& one : qp.held) {
        ibv_wc wc{};
        wc.wr_id = one.request().wr_id;
        wc.status = all.empty() ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_WR_FLUSH_ERR;
        wc.qp_num = qp.qp_num;
        all.push_back(wc);
      }
      qp.held.clear();
      return all;
    }
    qp.held.push_front(std::move(work));
    ++to_pump;
    return {};
  }
  return {};
}

std::vector<ibv_wc> Engine::flush_everything(VirtualQp& qp) {
  std::vector<ibv_wc> all;
  const auto flush = [&](std::uint64_t wr_id) {
    ibv_wc wc{};
    wc.wr_id = wr_id;
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.qp_num = qp.qp_num;
    all.push_back(wc);
  };
  for (const Outstanding& one : qp.outstanding) flush(one.wr_id);
  for (const SendWork& one : qp.held) flush(one.request().wr_id);
  qp.outstanding.clear();
  qp.held.clear();
  return all;
}

void Engine::pump(VirtualContext& context) {
  const std::unique_lock only(context.pump_lock, std::try_to_lock);
  if (!only.owns_lock()) return;  // somebody is at it
  to_pump.store(0, std::memory_order_relaxed);
  for (VirtualQp* qp : context.qps) {
    std::vector<ibv_wc> failed;
    bool asks = false;
    bool tells = false;
    {
      const std::lock_guard hold(qp->lock);
      tells = (qp->owes_unhold || qp->owes_revoke) && !qp->own_move;
      if (!tells && !qp->doomed && (waits(*qp) || qp->held.empty())) continue;
      asks = qp->asking.has_value();
      if (!asks) failed = release_held(*qp);
    }
    if (tells) tell_move_is_off(*qp);
    if (qp->doomed && !qp->lost) end_doomed(*qp);
    if (asks && !learn_keys(*qp)) continue;
    if (asks) {
      const std::lock_guard hold(qp->lock);
      failed = release_held(*qp);
    }
    if (!failed.empty()) show_all(*static_cast<VirtualCq*>(qp->send_cq), failed);
  }
}

void Engine::end_doomed(VirtualQp& qp) {
  const std::unique_lock hold(control, std::try_to_lock);
  if (!hold.owns_lock() || take_away(qp) != 0) {
    ++to_pump;
    return;
  }
  lose(qp, true);
  end_connection(qp);
}

void Engine::tell_move_is_off(VirtualQp& qp) {
  for (const Ask what : {Ask::Unhold, Ask::Revoke}) {
    Question question;
    ibv_gid from{};
    ibv_gid to{};
    bool& owes = what == Ask::Unhold ? qp.owes_unhold : qp.owes_revoke;
    {
      const std::lock_guard hold(qp.lock);
      if (!owes || qp.own_move) continue;  // a new move has it hold again
      if (what == Ask::Revoke && ((qp.marker_posted && !qp.marker_done) || !qp.stale_markers.empty())) {
        ++to_pump;
        return;
      }
      question.ask = what;
      question.from_number = qp.qp_num;
      question.to_number = qp.attr.dest_qp_num;
      question.from_epoch = static_cast<std::uint32_t>(qp.epoch) + (what == Ask::Unhold ? 1 : 0);
      from = qp.source;
      to = qp.attr.ah_attr.grh.dgid;
    }
    const bool told = ask(from, to, question).has_value();
    const std::lock_guard hold(qp.lock);
    owes = owes && !told;
    if (told) continue;
    ++to_pump;
    return;
  }
}

bool Engine::learn_keys(VirtualQp& qp) {
  Question question;
  ibv_gid from{};
  ibv_gid to{};
  {
    const std::lock_guard hold(qp.lock);
    if (!qp.asking) return true;
    question.ask = Ask::Keys;
    question.from_number = qp.qp_num;
    question.to_number = qp.attr.dest_qp_num;
    question.from_epoch = static_cast<std::uint32_t>(qp.epoch);
    question.pairs = {{*qp.asking, 0}};
    from = qp.source;
    to = qp.attr.ah_attr.grh.dgid;
  }
  const auto answer = ask(from, to, question);
  const std::lock_guard hold(qp.lock);
  if (!qp.asking) return true;
  if (answer && answer->said == Said::Yes && answer->pairs.size() == 1 &&
      answer->pairs[0].first == *qp.asking) {
    qp.remote_keys[*qp.asking] = answer->pairs[0].second;
    qp.failures = 0;
  } else if (++qp.failures > kMostTries) {
    qp.remote_keys[*qp.asking] = 0xFFFFFFFF;  // nobody knows it: an error at this request
    qp.failures = 0;
  } else {
    ++to_pump;
    return false;
  }
  qp.asking.reset();
  return true;
}

int Engine::post_receive(VirtualQp& qp, const ReceiveWork& work) {
  if (qp.physical == nullptr) return EINVAL;
  std::vector<ibv_sge> list = work.list;
  if (qp.translates)
    for (ibv_sge& sge : list) sge.lkey = local_key(context_of(qp), sge.lkey);
  ibv_recv_wr wr{work.wr_id, nullptr, list.data(), static_cast<int>(list.size())};
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(qp.physical, &wr, &bad)) return error;
  list = work.list;
  wr.sg_list = list.data();
  qp.ring.add(wr);
  return 0;
}

int Engine::post_receive(VirtualSrq& srq, const ReceiveWork& work) {
  if (srq.physical == nullptr) return EINVAL;
  VirtualContext& context = VirtualContext::of(srq.context);
  std::vector<ibv_sge> list = work.list;
  if (context.moves != 0)
    for (ibv_sge& sge : list) sge.lkey = local_key(context, sge.lkey);
  ibv_recv_wr wr{work.wr_id, nullptr, list.data(), static_cast<int>(list.size())};
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_srq_recv(srq.physical, &wr, &bad)) return error;
  list = work.list;
  wr.sg_list = list.data();
  srq.ring.add(wr);
  return 0;
}

}  // namespace rdmove::shadow
