// SRQs and queue pairs: their states (IBTA volume 1, 10.3.1) and numbers.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shadowdev/fakeverbs/wire.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow::fake {
namespace {

bool may_go(ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return true;
  switch (from) {
    case IBV_QPS_RESET:
      return to == IBV_QPS_INIT;
    case IBV_QPS_INIT:
      return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
    case IBV_QPS_RTR:
    case IBV_QPS_RTS:
      return to == IBV_QPS_RTS;
    default:
      return false;
  }
}

}  // namespace

ibv_srq* FakeVerbs::create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  const std::lock_guard hold(fabric_.lock_);
  const Device& device = device_of(pd->context);
  int error = device.dead ? EIO : fabric_.faults.strike();
  if (error == 0 && attributes->attr.max_wr > static_cast<unsigned>(device.limits.max_qp_wr)) error = EINVAL;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  auto* srq = new Srq();
  srq->context = pd->context;
  srq->srq_context = attributes->srq_context;
  srq->pd = pd;
  srq->attributes = attributes->attr;
  ++static_cast<Pd*>(pd)->children;
  return srq;
}

int FakeVerbs::modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  const std::lock_guard hold(fabric_.lock_);
  if (device_of(srq->context).dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;
  if ((mask & IBV_SRQ_LIMIT) != 0) static_cast<Srq*>(srq)->attributes.srq_limit = attributes->srq_limit;
  return 0;
}

int FakeVerbs::query_srq(ibv_srq* srq, ibv_srq_attr* out) {
  const std::lock_guard hold(fabric_.lock_);
  if (device_of(srq->context).dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  *out = static_cast<Srq*>(srq)->attributes;
  return 0;
}

int FakeVerbs::destroy_srq(ibv_srq* shown) {
  const std::lock_guard hold(fabric_.lock_);
  auto* srq = static_cast<Srq*>(shown);
  if (const int error = fabric_.faults.strike()) return error;
  if (srq->users != 0) return EBUSY;
  --static_cast<Pd*>(srq->pd)->children;
  delete srq;
  return 0;
}

ibv_qp* FakeVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  const std::lock_guard hold(fabric_.lock_);
  Device& device = device_of(pd->context);
  const auto most = static_cast<unsigned>(device.limits.max_qp_wr);
  int error = device.dead ? EIO : fabric_.faults.strike();
  if (error == 0 && (attributes->cap.max_send_wr > most || attributes->cap.max_recv_wr > most ||
                     attributes->cap.max_inline_data > device.limits.max_inline))
    error = EINVAL;
  if (error == 0 && static_cast<int>(device.qps.size()) >= device.limits.max_qp) error = ENOMEM;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  auto* qp = new Qp();
  qp->context = pd->context;
  qp->qp_context = attributes->qp_context;
  qp->pd = pd;
  qp->send_cq = attributes->send_cq;
  qp->recv_cq = attributes->recv_cq;
  qp->srq = attributes->srq;
  qp->qp_type = attributes->qp_type;
  qp->init = *attributes;
  qp->attr.cap = attributes->cap;
  qp->qp_num = fabric_.free_number(device);
  device.qps[qp->qp_num] = qp;
  fabric_.order_.push_back(qp);
  ++static_cast<Pd*>(pd)->children;
  ++static_cast<Cq*>(qp->send_cq)->users;
  ++static_cast<Cq*>(qp->recv_cq)->users;
  if (qp->srq != nullptr) ++static_cast<Srq*>(qp->srq)->users;
  return qp;
}

int FakeVerbs::modify_qp(ibv_qp* shown, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard hold(fabric_.lock_);
  Qp& qp = *static_cast<Qp*>(shown);
  if (device_of(qp.context).dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  const auto to = (mask & IBV_QP_STATE) != 0 ? attributes->qp_state : qp.attr.qp_state;
  if (!may_go(qp.attr.qp_state, to)) return EINVAL;
  if ((mask & IBV_QP_AV) != 0 && attributes->ah_attr.grh.sgid_index != device_of(qp.context).gid_index)
    return EINVAL;
  Wire wire{fabric_};
  if (to == IBV_QPS_ERR) {
    wire.enter_error(qp);
    return 0;
  }
  if (to == IBV_QPS_RESET) {
    wire.forget_completions(qp);
    const auto cap = qp.attr.cap;
    qp.attr = {};
    qp.attr.cap = cap;
    qp.state = IBV_QPS_RESET;
    qp.retries = qp.rnr_retries = 0;
    return 0;
  }
  copy_named(qp.attr, *attributes, mask);
  if ((mask & IBV_QP_RQ_PSN) != 0) qp.expected_psn = attributes->rq_psn & kPsnMask;
  if ((mask & IBV_QP_SQ_PSN) != 0) qp.post_psn = qp.sent_psn = attributes->sq_psn & kPsnMask;
  qp.attr.qp_state = qp.state = to;
  return 0;
}

int FakeVerbs::query_qp(ibv_qp* shown, ibv_qp_attr* out, int /*mask*/, ibv_qp_init_attr* init_out) {
  const std::lock_guard hold(fabric_.lock_);
  Qp& qp = *static_cast<Qp*>(shown);
  if (device_of(qp.context).dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  *out = qp.attr;
  out->cur_qp_state = qp.attr.qp_state;
  out->sq_psn = qp.sent_psn;
  out->rq_psn = qp.expected_psn;
  *init_out = qp.init;
  return 0;
}

int FakeVerbs::destroy_qp(ibv_qp* shown) {
  const std::lock_guard hold(fabric_.lock_);
  Qp& qp = *static_cast<Qp*>(shown);
  if (const int error = fabric_.faults.strike()) return error;
  Wire{fabric_}.forget_completions(qp);
  std::erase_if(Context::of(qp.context)->events, [&](const ibv_async_event& event) {
    return event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == &qp;
  });
  device_of(qp.context).qps.erase(qp.qp_num);
  std::erase(fabric_.order_, &qp);
  --static_cast<Pd*>(qp.pd)->children;
  --static_cast<Cq*>(qp.send_cq)->users;
  --static_cast<Cq*>(qp.recv_cq)->users;
  if (qp.srq != nullptr) --static_cast<Srq*>(qp.srq)->users;
  delete &qp;
  return 0;
}

}  // namespace rdmove::shadow::fake
