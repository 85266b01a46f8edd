// The tables that verbs.h's inline functions call, and the slow functions behind the gates.
#include <cerrno>

#include "shadowdev/device/engine.hpp"
#include "shadowdev/device/in_call.hpp"

namespace rdmove::shadow {
namespace {

// Trampolines: the virtual object's target is the physical object, or a gate that leads to the slow
// functions.

int tramp_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  const InCall in;
  ibv_qp* target = static_cast<VirtualQp*>(qp)->target.load(std::memory_order_acquire);
  return target->context->ops.post_send(target, wr, bad);
}

int tramp_poll(ibv_cq* cq, int entries, ibv_wc* wc) {
  const InCall in;
  ibv_cq* target = static_cast<VirtualCq*>(cq)->target.load(std::memory_order_acquire);
  return target->context->ops.poll_cq(target, entries, wc);
}

int tramp_arm(ibv_cq* shown, int solicited_only) {
  const InCall in;
  auto* cq = static_cast<VirtualCq*>(shown);
  if (solicited_only == 0)
    cq->armed.store(Armed::Any, std::memory_order_relaxed);
  else if (cq->armed.load(std::memory_order_relaxed) == Armed::No)
    cq->armed.store(Armed::Solicited, std::memory_order_relaxed);
  ibv_cq* target = cq->target.load(std::memory_order_acquire);
  return target->context->ops.req_notify_cq(target, solicited_only);
}

Engine& engine_of(ibv_context* context);

int tramp_receive(ibv_qp* shown, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return engine_of(shown->context).receive(*static_cast<VirtualQp*>(shown), wr, bad);
}

int tramp_srq_receive(ibv_srq* shown, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return engine_of(shown->context).receive(*static_cast<VirtualSrq*>(shown), wr, bad);
}

int slow_send(ibv_qp* gate, ibv_send_wr* wr, ibv_send_wr** bad) {
  const OutOfCall out;
  VirtualQp& qp = *static_cast<Gate<ibv_qp, VirtualQp>*>(gate)->owner;
  return engine_of(qp.context).send(qp, wr, bad);
}

int slow_poll(ibv_cq* gate, int entries, ibv_wc* wc) {
  const OutOfCall out;
  VirtualCq& cq = *static_cast<Gate<ibv_cq, VirtualCq>*>(gate)->owner;
  return engine_of(cq.context).poll(cq, entries, wc);
}

int slow_arm(ibv_cq* gate, int solicited_only) {
  const OutOfCall out;
  VirtualCq& cq = *static_cast<Gate<ibv_cq, VirtualCq>*>(gate)->owner;
  return engine_of(cq.context).arm(cq, solicited_only);
}

Engine& engine_of(ibv_context* context) {
  return *VirtualContext::of(context).engine;
}

ibv_wc flush_of(const VirtualQp& qp, std::uint64_t wr_id) {
  ibv_wc wc{};
  wc.wr_id = wr_id;
  wc.status = IBV_WC_WR_FLUSH_ERR;
  wc.qp_num = qp.qp_num;
  return wc;
}

}  // namespace

bool is_virtual(const ibv_context& context) {
  return context.ops.poll_cq == tramp_poll;
}

void Engine::fill_tables(VirtualContext& context) {
  context.sz = sizeof(verbs_context);
  for (ibv_context* table : {&context.context, &context.slow}) {
    table->abi_compat = __VERBS_ABI_IS_EXTENDED;
    table->device = &context.shown;
    table->ops.post_recv = tramp_receive;
    table->ops.post_srq_recv = tramp_srq_receive;
  }
  context.context.ops.post_send = tramp_send;
  context.context.ops.poll_cq = tramp_poll;
  context.context.ops.req_notify_cq = tramp_arm;
  context.slow.ops.post_send = slow_send;
  context.slow.ops.poll_cq = slow_poll;
  context.slow.ops.req_notify_cq = slow_arm;
}

int Engine::send(VirtualQp& qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  std::vector<ibv_wc> flushes;
  int error = 0;
  bool asks = false;
  {
    const std::lock_guard hold(qp.lock);
    for (; wr != nullptr && error == 0; wr = wr->next) {
      *bad = wr;
      if (qp.lost)
        flushes.push_back(flush_of(qp, wr->wr_id));
      else if (waits(qp) || !qp.held.empty())
        error = hold_send(qp, *wr);
      else
        error = send_now(qp, *wr);
    }
    asks = qp.asking.has_value() && !waits(qp);
  }
  if (!flushes.empty()) show_all(*static_cast<VirtualCq*>(qp.send_cq), flushes);
  if (asks && learn_keys(qp)) pump(context_of(qp));
  return error;
}

int Engine::receive(VirtualQp& qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  std::vector<ibv_wc> flushes;
  int error = 0;
  {
    const std::lock_guard hold(qp.receive_lock);
    for (; wr != nullptr && error == 0; wr = wr->next) {
      *bad = wr;
      if (qp.srq != nullptr || wr->num_sge > static_cast<int>(qp.init.cap.max_recv_sge))
        error = EINVAL;
      else if (qp.holds_receives && qp.lost)
        flushes.push_back(flush_of(qp, wr->wr_id));
      else if (!qp.holds_receives)
        error = post_receive(qp, ReceiveWork::of(*wr));
      else if (qp.parked_receives.size() >= qp.init.cap.max_recv_wr)
        error = ENOMEM;
      else
        qp.parked_receives.push_back(ReceiveWork::of(*wr));
    }
  }
  if (!flushes.empty()) show_all(*static_cast<VirtualCq*>(qp.recv_cq), flushes);
  return error;
}

int Engine::receive(VirtualSrq& srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const std::lock_guard hold(srq.receive_lock);
  for (; wr != nullptr; wr = wr->next) {
    *bad = wr;
    if (wr->num_sge > static_cast<int>(srq.attributes.max_sge)) return EINVAL;
    if (srq.holds) {
      if (srq.parked.size() >= srq.attributes.max_wr) return ENOMEM;
      srq.parked.push_back(ReceiveWork::of(*wr));
      continue;
    }
    if (const int error = post_receive(srq, ReceiveWork::of(*wr))) return error;
  }
  return 0;
}

int Engine::poll(VirtualCq& cq, int entries, ibv_wc* wc) {
  int got = 0;
  {
    const std::lock_guard hold(cq.lock);
    while (static_cast<int>(cq.backlog.size()) < entries) {
      const int moved = harvest(cq);
      if (moved < 0 && cq.backlog.empty()) return -1;
      if (moved <= 0) break;
    }
    for (; got < entries && !cq.backlog.empty(); ++got) {
      wc[got] = cq.backlog.front();
      cq.backlog.pop_front();
    }
  }
  if (to_pump.load(std::memory_order_relaxed) != 0) pump(VirtualContext::of(cq.context));
  return got;
}

int Engine::arm(VirtualCq& cq, int solicited_only) {
  const std::lock_guard hold(cq.lock);
  return cq.physical != nullptr ? ibv_req_notify_cq(cq.physical, solicited_only) : 0;
}

}  // namespace rdmove::shadow
