#include "shadowdev/device/vacuum.hpp"

#include <cerrno>

namespace rdmove::shadow {
namespace {

constexpr std::size_t kBatch = 16;

}  // namespace

int Vacuum::connect(Engine& engine, ibv_qp* qp, const ibv_qp* to) {
  const VirtualContext& context = VirtualContext::of(srq->context);
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.path_mtu = IBV_MTU_256;
  attr.dest_qp_num = to->qp_num;
  attr.ah_attr = Engine::own_path(context);
  attr.max_rd_atomic = attr.max_dest_rd_atomic = 1;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 0;  // "no receive" is what we want to hear
  attr.min_rnr_timer = 1;
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                       IBV_QP_MAX_QP_RD_ATOMIC;
  for (const auto& [from, state, mask] :
       {std::tuple{IBV_QPS_RESET, IBV_QPS_INIT, kInit}, std::tuple{IBV_QPS_INIT, IBV_QPS_RTR, kRtr},
        std::tuple{IBV_QPS_RTR, IBV_QPS_RTS, kRts}}) {
    if (qp->state != from) continue;
    attr.qp_state = state;
    if (const int error = engine.physical.modify_qp(qp, &attr, mask)) return error;
  }
  return 0;
}

int Vacuum::set_up(Engine& engine) {
  VirtualContext& context = VirtualContext::of(srq->context);
  ibv_pd* pd = static_cast<VirtualPd*>(srq->pd)->physical;
  if (cq_ == nullptr) cq_ = engine.physical.create_cq(context.physical, 4 * kBatch, nullptr, nullptr, 0);
  if (cq_ == nullptr) return errno;
  for (ibv_qp** qp : {&sender_, &taker_}) {
    if (*qp != nullptr) continue;
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.srq = qp == &taker_ ? srq->physical : nullptr;
    init.cap = {kBatch, 1, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    *qp = engine.physical.create_qp(pd, &init);
    if (*qp == nullptr) return errno;
  }
  if (const int error = connect(engine, taker_, sender_)) return error;
  if (const int error = connect(engine, sender_, taker_)) return error;
  ready_ = true;
  return 0;
}

void Vacuum::count() {
  ibv_wc wc[kBatch];
  for (;;) {
    const int got = ibv_poll_cq(cq_, kBatch, wc);
    if (got <= 0) return;
    for (int i = 0; i < got; ++i) {
      if (wc[i].qp_num == taker_->qp_num) {
        ++taken;
        continue;
      }
      ++ended_;
      if (wc[i].status == IBV_WC_SUCCESS)
        ++succeeded_;
      else
        empty_ = true;
    }
  }
}

int Vacuum::round(Engine& engine) {
  if (done_) return 0;
  if (!ready_)
    if (const int error = set_up(engine)) return error;
  count();
  while (!empty_ && sent_ - ended_ < kBatch) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(sender_, &wr, &bad)) return error;
    ++sent_;
  }
  done_ = empty_ && ended_ == sent_ && taken == succeeded_;
  return done_ ? 0 : EAGAIN;
}

int Vacuum::clean(Engine& engine) {
  for (ibv_qp** qp : {&sender_, &taker_}) {
    if (*qp == nullptr) continue;
    if (const int error = engine.physical.destroy_qp(*qp)) return error;
    *qp = nullptr;
  }
  if (cq_ == nullptr) return 0;
  const int error = engine.physical.destroy_cq(cq_);
  if (error == 0) cq_ = nullptr;
  return error;
}

}  // namespace rdmove::shadow
