#include "shadowdev/fakeverbs/wire.hpp"

#include <sys/eventfd.h>

#include <algorithm>

namespace rdmove::shadow::fake {
namespace {

ibv_wc_opcode completed(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

ibv_wc flushed(const Qp& qp, std::uint64_t wr_id) {
  ibv_wc wc{};  // opcode 0: it does not tell a send from a receive
  wc.wr_id = wr_id;
  wc.status = IBV_WC_WR_FLUSH_ERR;
  wc.qp_num = qp.qp_num;
  return wc;
}

}  // namespace

bool Wire::step(Qp& qp, bool acknowledge_first) {
  if (device_of(qp.context).dead) return false;
  const bool answered = !qp.sends.empty() && qp.sends.front().executed;
  if (acknowledge_first && answered) {
    acknowledge(qp);
    return true;
  }
  if (!acknowledge_first && !qp.late.empty()) {
    show(qp);
    return true;
  }
  if (execute(qp)) return true;
  if (answered) {
    acknowledge(qp);
    return true;
  }
  if (qp.late.empty()) return false;
  show(qp);
  return true;
}

bool Wire::execute(Qp& qp) {
  if (qp.attr.qp_state != IBV_QPS_RTS) return false;
  const auto next =
      std::find_if(qp.sends.begin(), qp.sends.end(), [](const Request& r) { return !r.executed; });
  if (next == qp.sends.end()) return false;
  if (qp.qp_type == IBV_QPT_UD) {
    execute_datagram(qp, *next);
    return true;
  }
  return execute_connected(qp, *next);
}

void Wire::acknowledge(Qp& qp) {
  const Request request = qp.sends.front();
  if (!request.answer.empty() && !scatter(qp, request.from, request.answer))
    return fail_first(qp, IBV_WC_LOC_PROT_ERR);
  qp.sends.pop_front();
  if (!request.signalled) return;
  ibv_wc wc{};
  wc.wr_id = request.wr.wr_id;
  wc.opcode = completed(request.wr.opcode);
  wc.qp_num = qp.qp_num;
  wc.byte_len = static_cast<std::uint32_t>(request.length);
  push(qp.send_cq, wc, false);
}

void Wire::fail(Qp& qp, ibv_wc_status status) {
  // Requests before it were answered: they complete first.
  while (!qp.sends.empty() && qp.sends.front().executed) acknowledge(qp);
  if (!qp.sends.empty()) fail_first(qp, status);
}

void Wire::fail_first(Qp& qp, ibv_wc_status status) {
  ibv_wc wc{};
  wc.wr_id = qp.sends.front().wr.wr_id;
  wc.status = status;
  wc.qp_num = qp.qp_num;
  qp.sends.pop_front();
  push(qp.send_cq, wc, false);
  enter_error(qp);
}

void Wire::enter_error(Qp& qp) {
  if (qp.attr.qp_state == IBV_QPS_ERR) return;
  qp.attr.qp_state = qp.state = IBV_QPS_ERR;
  // What was executed but not acknowledged is flushed too: the requester does not know (IBTA volume
  // 1, 10.8.5).
  for (const Request& request : qp.sends)
    qp.late.push_back({flushed(qp, request.wr.wr_id), true, false, false});
  qp.sends.clear();
  for (const Receive& receive : qp.receives)
    qp.late.push_back({flushed(qp, receive.wr_id), false, false, false});
  qp.receives.clear();
  // An SRQ is not flushed; the event says that this QP takes nothing more from it (11.6.3.2).
  if (qp.srq != nullptr) qp.late.push_back({{}, false, false, true});
}

void Wire::show(Qp& qp) {
  const Late late = qp.late.front();
  qp.late.pop_front();
  if (late.last_wqe_reached) {
    if (fabric.says_last_wqe) raise(IBV_EVENT_QP_LAST_WQE_REACHED, &qp);
    return;
  }
  push(late.to_send_cq ? qp.send_cq : qp.recv_cq, late.wc, late.solicited);
}

void Wire::push(ibv_cq* shown, const ibv_wc& wc, bool solicited) {
  Cq& cq = *static_cast<Cq*>(shown);
  if (static_cast<int>(cq.ready.size()) >= cq.cqe) {
    if (!cq.overrun) {
      ibv_async_event event{{}, IBV_EVENT_CQ_ERR};
      event.element.cq = &cq;
      raise_on(cq.context, event);
    }
    cq.overrun = true;
    return;
  }
  cq.ready.push_back(wc);
  const bool wakes =
      cq.armed == Armed::Any || (cq.armed == Armed::Solicited && (solicited || wc.status != IBV_WC_SUCCESS));
  if (!wakes || cq.channel == nullptr) return;
  cq.armed = Armed::No;
  auto& channel = *static_cast<Channel*>(cq.channel);
  channel.events.push_back(&cq);
  ++cq.unacknowledged;
  eventfd_write(channel.fd, 1);
}

void Wire::forget_completions(Qp& qp) {
  for (ibv_cq* shown : {qp.send_cq, qp.recv_cq})
    std::erase_if(static_cast<Cq*>(shown)->ready, [&](const ibv_wc& wc) { return wc.qp_num == qp.qp_num; });
  qp.late.clear();
  qp.sends.clear();
  qp.receives.clear();
}

void Wire::raise(ibv_event_type type, Qp* qp) {
  ibv_async_event event{{}, type};
  event.element.qp = qp;
  raise_on(qp->context, event);
}

void Wire::raise_on(ibv_context* context, ibv_async_event event) {
  Context::of(context)->events.push_back(event);
  eventfd_write(context->async_fd, 1);
}

}  // namespace rdmove::shadow::fake
