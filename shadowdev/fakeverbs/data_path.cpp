#include <cerrno>
#include <cstring>

#include "shadowdev/fakeverbs/wire.hpp"

namespace rdmove::shadow::fake {
namespace {

constexpr std::uint32_t kBytesOf[] = {256, 256, 512, 1024, 2048, 4096};

Request request_of(const Qp& qp, const ibv_send_wr& wr) {
  Request request;
  request.wr = wr;
  request.signalled = qp.init.sq_sig_all != 0 || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  for (int i = 0; i < wr.num_sge; ++i) request.length += wr.sg_list[i].length;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    for (int i = 0; i < wr.num_sge; ++i) {
      const auto* from = reinterpret_cast<const std::byte*>(wr.sg_list[i].addr);
      request.inlined.insert(request.inlined.end(), from, from + wr.sg_list[i].length);
    }
  } else {
    request.from.assign(wr.sg_list, wr.sg_list + wr.num_sge);
  }
  if (qp.qp_type == IBV_QPT_UD) request.to = static_cast<const Ah*>(wr.wr.ud.ah)->attributes;
  const std::uint32_t mtu = kBytesOf[qp.attr.path_mtu <= IBV_MTU_4096 ? qp.attr.path_mtu : 0];
  request.packets = std::max<std::uint32_t>(1, static_cast<std::uint32_t>((request.length + mtu - 1) / mtu));
  return request;
}

int cannot_send(const Qp& qp, const ibv_send_wr& wr) {
  const bool posts = qp.attr.qp_state == IBV_QPS_RTS || qp.attr.qp_state == IBV_QPS_ERR;
  if (!posts || wr.num_sge > static_cast<int>(qp.init.cap.max_send_sge)) return EINVAL;
  if (qp.sends.size() >= qp.init.cap.max_send_wr) return ENOMEM;
  if (wr.opcode > IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV) return EOPNOTSUPP;
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) return 0;
  std::uint64_t length = 0;
  for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
  return length > qp.init.cap.max_inline_data ? EINVAL : 0;
}

}  // namespace

int DataPath::post_send(ibv_qp* shown, ibv_send_wr* wr, ibv_send_wr** bad) {
  Qp& qp = *static_cast<Qp*>(shown);
  Device& device = device_of(qp.context);
  const std::lock_guard hold(device.fabric->lock_);
  for (; wr != nullptr; wr = wr->next) {
    *bad = wr;
    if (const int error = device.fabric->faults.strike()) return error;
    if (const int error = cannot_send(qp, *wr)) return error;
    if (device.dead) continue;  // written to a doorbell that nobody reads any more
    Request request = request_of(qp, *wr);
    if (qp.attr.qp_state == IBV_QPS_ERR) {
      Late late;
      late.wc.wr_id = wr->wr_id;
      late.wc.status = IBV_WC_WR_FLUSH_ERR;
      late.wc.qp_num = qp.qp_num;
      late.to_send_cq = true;
      qp.late.push_back(late);
      continue;
    }
    request.psn = qp.post_psn;
    qp.post_psn = (qp.post_psn + request.packets) & kPsnMask;
    qp.sends.push_back(std::move(request));
  }
  return 0;
}

int DataPath::post_recv(ibv_qp* shown, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Qp& qp = *static_cast<Qp*>(shown);
  Device& device = device_of(qp.context);
  const std::lock_guard hold(device.fabric->lock_);
  for (; wr != nullptr; wr = wr->next) {
    *bad = wr;
    if (const int error = device.fabric->faults.strike()) return error;
    if (qp.attr.qp_state == IBV_QPS_RESET || qp.srq != nullptr ||
        wr->num_sge > static_cast<int>(qp.init.cap.max_recv_sge))
      return EINVAL;
    if (qp.receives.size() >= qp.init.cap.max_recv_wr) return ENOMEM;
    // As on rxe: what is posted in ERR is accepted and never flushed.
    if (device.dead || qp.attr.qp_state == IBV_QPS_ERR) continue;
    qp.receives.push_back({wr->wr_id, {wr->sg_list, wr->sg_list + wr->num_sge}});
  }
  return 0;
}

int DataPath::post_srq_recv(ibv_srq* shown, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Srq& srq = *static_cast<Srq*>(shown);
  Device& device = device_of(srq.context);
  const std::lock_guard hold(device.fabric->lock_);
  for (; wr != nullptr; wr = wr->next) {
    *bad = wr;
    if (const int error = device.fabric->faults.strike()) return error;
    if (wr->num_sge > static_cast<int>(srq.attributes.max_sge)) return EINVAL;
    if (srq.posted.size() >= srq.attributes.max_wr) return ENOMEM;
    if (!device.dead) srq.posted.push_back({wr->wr_id, {wr->sg_list, wr->sg_list + wr->num_sge}});
  }
  return 0;
}

int DataPath::poll_cq(ibv_cq* shown, int entries, ibv_wc* wc) {
  Cq& cq = *static_cast<Cq*>(shown);
  Fabric& fabric = *device_of(cq.context).fabric;
  const std::lock_guard hold(fabric.lock_);
  if (fabric.faults.strike() != 0) return -1;
  int got = 0;
  for (; got < entries && !cq.ready.empty(); ++got) {
    wc[got] = cq.ready.front();
    cq.ready.pop_front();
  }
  return got;
}

int DataPath::req_notify_cq(ibv_cq* shown, int solicited_only) {
  Cq& cq = *static_cast<Cq*>(shown);
  Fabric& fabric = *device_of(cq.context).fabric;
  const std::lock_guard hold(fabric.lock_);
  if (const int error = fabric.faults.strike()) return error;
  // Arming for any completion is never weakened by arming for solicited ones (IBTA volume 1, 11.4.2.2).
  if (solicited_only == 0)
    cq.armed = Armed::Any;
  else if (cq.armed == Armed::No)
    cq.armed = Armed::Solicited;
  return 0;
}

void DataPath::fill(Context& context) {
  context.sz = sizeof(verbs_context);
  ibv_context& shown = context.context;
  shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
  shown.ops.post_send = post_send;
  shown.ops.post_recv = post_recv;
  shown.ops.post_srq_recv = post_srq_recv;
  shown.ops.poll_cq = poll_cq;
  shown.ops.req_notify_cq = req_notify_cq;
}

}  // namespace rdmove::shadow::fake
