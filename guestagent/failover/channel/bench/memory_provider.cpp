#include "guestagent/failover/channel/bench/memory_provider.hpp"

#include <bit>
#include <cerrno>
#include <cstring>

namespace rdmove::failover::channel::bench {

MemoryPair::MemoryPair(std::uint32_t depth) : ends_{End(std::bit_ceil(depth)), End(std::bit_ceil(depth))} {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    End& end = ends_[i];
    end.other = &ends_[1 - i];
    end.context.ops.post_send = &post_send;
    end.context.ops.post_recv = &post_receive;
    end.context.ops.poll_cq = &poll;
    end.qp.context = end.cq.context = &end.context;
    end.qp.qp_context = end.cq.cq_context = &end;
  }
}

int MemoryPair::post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  End& from = *static_cast<End*>(qp->qp_context);
  for (; request != nullptr; request = request->next) {
    Receive receive;
    if (!from.other->receives.pop(receive) || receive.part.length < request->sg_list->length) {
      *bad = request;
      return ENOMEM;
    }
    const ibv_sge& part = *request->sg_list;
    std::memcpy(reinterpret_cast<void*>(receive.part.addr), reinterpret_cast<const void*>(part.addr),
                part.length);
    ibv_wc arrived{};
    arrived.wr_id = receive.wr_id;
    arrived.opcode = IBV_WC_RECV;
    arrived.byte_len = part.length;
    ibv_wc sent{};
    sent.wr_id = request->wr_id;
    sent.opcode = IBV_WC_SEND;
    if (!from.other->completed.push(arrived) || !from.completed.push(sent)) {
      *bad = request;
      return ENOMEM;
    }
  }
  return 0;
}

int MemoryPair::post_receive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  End& end = *static_cast<End*>(qp->qp_context);
  for (; request != nullptr; request = request->next) {
    if (end.receives.push({request->wr_id, *request->sg_list})) continue;
    *bad = request;
    return ENOMEM;
  }
  return 0;
}

int MemoryPair::poll(ibv_cq* cq, int count, ibv_wc* completions) {
  End& end = *static_cast<End*>(cq->cq_context);
  int taken = 0;
  while (taken < count && end.completed.pop(completions[taken])) ++taken;
  return taken;
}

}  // namespace rdmove::failover::channel::bench
