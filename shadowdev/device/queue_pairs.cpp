// SRQs and queue pairs as programs make, change and destroy them.
#include <algorithm>
#include <cerrno>

#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {
namespace {

void remember(VirtualQp& qp, const ibv_qp_attr& from, int mask) {
  copy_named(qp.attr, from, mask);
  if ((mask & IBV_QP_STATE) == 0) return;
  qp.state = from.qp_state;
  if (from.qp_state >= IBV_QPS_INIT && from.qp_state <= IBV_QPS_RTS) {
    int& said = qp.masks[from.qp_state - IBV_QPS_INIT];
    said = said == 0 ? mask : said;  // a later change within a state is in the attributes
  }
}

bool is_shadowed(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

}  // namespace

ibv_srq* ShadowVerbs::create_srq(ibv_pd* shown, ibv_srq_init_attr* attributes) {
  std::unique_lock hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  if (!wait_live(context, hold)) return refused<ibv_srq>(EBUSY);
  if (pd->physical == nullptr) return refused<ibv_srq>(EIO);
  auto srq = std::make_unique<VirtualSrq>();
  ibv_srq_init_attr init = *attributes;
  init.srq_context = srq.get();
  srq->physical = engine_.physical.create_srq(pd->physical, &init);
  if (srq->physical == nullptr) return nullptr;
  attributes->attr = init.attr;
  srq->context = pd->context;
  srq->srq_context = attributes->srq_context;
  srq->pd = pd;
  srq->attributes = init.attr;
  srq->ring.set_depth(init.attr.max_wr);
  context.srqs.push_back(srq.get());
  return srq.release();
}

int ShadowVerbs::modify_srq(ibv_srq* shown, ibv_srq_attr* attributes, int mask) {
  const std::lock_guard hold(engine_.control);
  auto* srq = static_cast<VirtualSrq*>(shown);
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;  // the ring has the depth that it was made with
  if (srq->physical != nullptr)
    if (const int error = engine_.physical.modify_srq(srq->physical, attributes, mask)) return error;
  if ((mask & IBV_SRQ_LIMIT) != 0) srq->attributes.srq_limit = attributes->srq_limit;
  return 0;
}

int ShadowVerbs::query_srq(ibv_srq* shown, ibv_srq_attr* out) {
  const std::lock_guard hold(engine_.control);
  *out = static_cast<VirtualSrq*>(shown)->attributes;
  return 0;
}

int ShadowVerbs::destroy_srq(ibv_srq* shown) {
  const std::lock_guard hold(engine_.control);
  auto* srq = static_cast<VirtualSrq*>(shown);
  if (srq->users != 0) return EBUSY;
  if (srq->physical != nullptr)
    if (const int error = engine_.physical.destroy_srq(srq->physical)) return error;
  std::erase(VirtualContext::of(srq->context).srqs, srq);
  delete srq;
  return 0;
}

ibv_qp* ShadowVerbs::create_qp(ibv_pd* shown, ibv_qp_init_attr* attributes) {
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  const std::lock_guard pumping(context.pump_lock);
  std::unique_lock hold(engine_.control);
  if (!is_shadowed(attributes->qp_type)) return refused<ibv_qp>(EOPNOTSUPP);
  if (!wait_live(context, hold)) return refused<ibv_qp>(EBUSY);
  if (pd->physical == nullptr) return refused<ibv_qp>(EIO);
  auto qp = std::make_unique<VirtualQp>();
  qp->context = pd->context;
  qp->qp_context = attributes->qp_context;
  qp->pd = pd;
  qp->send_cq = attributes->send_cq;
  qp->recv_cq = attributes->recv_cq;
  qp->srq = attributes->srq;
  qp->qp_type = attributes->qp_type;
  qp->init = *attributes;
  // Made again until its number is none that a program knows as another QP's, or knew.
  const auto collides = [&](std::uint32_t number) {
    return context.retired_numbers.contains(number) ||
           std::any_of(context.qps.begin(), context.qps.end(),
                       [&](const VirtualQp* one) { return one->qp_num == number; });
  };
  std::vector<ibv_qp*> spare;
  int error = 0;
  for (int i = 0; i < kMostAttempts && qp->physical == nullptr; ++i) {
    ibv_qp* made = engine_.create_physical(*qp, error);
    if (made == nullptr) break;
    if (!context.numbers_differ || !collides(made->qp_num))
      qp->physical = made;
    else
      spare.push_back(made);
  }
  for (ibv_qp* one : spare) engine_.physical.destroy_qp(one);
  if (qp->physical == nullptr) return refused<ibv_qp>(error != 0 ? error : ENOMEM);
  qp->qp_num = qp->physical->qp_num;
  if (qp->srq == nullptr) qp->ring.set_depth(qp->init.cap.max_recv_wr + 1);
  qp->gate.context = &context.slow;
  qp->gate.owner = qp.get();
  qp->translates = context.moves != 0;
  qp->records = engine_.options.records || qp->translates;
  // An address handle is a pointer that the provider casts, so datagrams never pass through unseen.
  const bool looks = qp->records || qp->qp_type == IBV_QPT_UD;
  qp->phase = looks ? Phase::Translated : Phase::Direct;
  qp->target.store(looks ? static_cast<ibv_qp*>(&qp->gate) : qp->physical, std::memory_order_release);
  if (looks) {
    qp->records = true;
    for (ibv_cq* one : {qp->send_cq, qp->recv_cq}) {
      auto* cq = static_cast<VirtualCq*>(one);
      cq->target.store(&cq->gate, std::memory_order_release);
    }
  }
  {
    const std::unique_lock tables(context.tables);
    context.by_physical_number[qp->qp_num] = qp.get();
  }
  ++static_cast<VirtualCq*>(qp->send_cq)->users;
  ++static_cast<VirtualCq*>(qp->recv_cq)->users;
  if (qp->srq != nullptr) ++static_cast<VirtualSrq*>(qp->srq)->users;
  context.qps.push_back(qp.get());
  return qp.release();
}

int ShadowVerbs::to_reset(VirtualQp& qp) {
  VirtualContext& context = VirtualContext::of(qp.context);
  const std::lock_guard hold(qp.lock);
  const std::lock_guard receives(qp.receive_lock);
  if (qp.physical == nullptr) {
    if (context.physical == nullptr) return EIO;
    int error = 0;
    qp.physical = engine_.create_physical(qp, error);
    if (qp.physical == nullptr) return error;
    const std::unique_lock tables(context.tables);
    context.by_physical_number[qp.physical->qp_num] = &qp;
  } else {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    if (const int error = engine_.physical.modify_qp(qp.physical, &attr, IBV_QP_STATE)) return error;
  }
  qp.attr = {};
  qp.state = IBV_QPS_RESET;
  std::fill(std::begin(qp.masks), std::end(qp.masks), 0);
  qp.broken = qp.alone = qp.lost = qp.doomed = qp.moving = qp.granted = qp.holds_receives = false;
  qp.held.clear();
  qp.outstanding.clear();
  qp.parked_receives.clear();
  qp.ring.clear();
  qp.remote_keys.clear();
  qp.asking.reset();
  qp.agreed_send_psn.reset();
  if (qp.phase.load() >= Phase::Held) qp.phase = Phase::Translated;
  return 0;
}

int ShadowVerbs::to_rtr(VirtualQp& qp, ibv_qp_attr& attr, int mask, std::unique_lock<std::mutex>& hold) {
  ibv_qp_attr said = attr;
  bool translates = VirtualContext::of(qp.context).moves != 0;
  if ((mask & IBV_QP_DEST_QPN) != 0) {
    // Where is it really, and is anybody there who shadows it?
    Question question;
    question.ask = Ask::Meet;
    question.from_number = qp.qp_num;
    question.to_number = attr.dest_qp_num;
    const ibv_gid_entry* own = VirtualContext::of(qp.context).gids.at(attr.ah_attr.grh.sgid_index);
    const ibv_gid from = own == nullptr || attr.ah_attr.is_global == 0 ? ibv_gid{} : own->gid;
    hold.unlock();
    const auto answer = engine_.ask(from, attr.ah_attr.grh.dgid, question);
    hold.lock();
    const bool shadowed = answer && answer->said == Said::Yes;
    if (shadowed) said.dest_qp_num = answer->physical_number;
    translates = translates || (shadowed && answer->moved);
    qp.alone = !shadowed;
    qp.source = from;
    if (shadowed) qp.peer_epoch = model::Epoch{answer->epoch};
  }
  if (qp.physical == nullptr) return EIO;
  said.ah_attr = Engine::physical_path(VirtualContext::of(qp.context), said.ah_attr);
  if (const int error = engine_.physical.modify_qp(qp.physical, &said, mask)) return error;
  const std::lock_guard state(qp.lock);
  qp.peer_physical = said.dest_qp_num;
  if (translates && !qp.translates) {
    qp.translates = qp.records = true;
    qp.phase = Phase::Translated;
    qp.target.store(&qp.gate, std::memory_order_release);
    for (ibv_cq* one : {qp.send_cq, qp.recv_cq}) {
      auto* cq = static_cast<VirtualCq*>(one);
      cq->target.store(&cq->gate, std::memory_order_release);
    }
  }
  remember(qp, attr, mask);
  return 0;
}

int ShadowVerbs::modify_qp(ibv_qp* shown, ibv_qp_attr* attributes, int mask) {
  std::unique_lock hold(engine_.control);
  auto& qp = *static_cast<VirtualQp*>(shown);
  auto& context = VirtualContext::of(qp.context);
  const bool changes = (mask & IBV_QP_STATE) != 0;
  if (changes && attributes->qp_state == IBV_QPS_ERR && (qp.lost || context.presence == Presence::Parked)) {
    if (!qp.lost) engine_.lose(qp, false);
    return 0;
  }
  if (!wait_live(context, hold) || (qp.moving && !qp.lost)) return EBUSY;
  if (changes && attributes->qp_state == IBV_QPS_RESET) return to_reset(qp);
  if (qp.physical == nullptr) return EIO;
  if (changes && attributes->qp_state == IBV_QPS_RTR) return to_rtr(qp, *attributes, mask, hold);
  const std::lock_guard state(qp.lock);
  ibv_qp_attr said = *attributes;
  said.ah_attr = Engine::physical_path(context, said.ah_attr);
  if (qp.agreed_send_psn && (mask & IBV_QP_SQ_PSN) != 0) said.sq_psn = *qp.agreed_send_psn;
  if (const int error = engine_.physical.modify_qp(qp.physical, &said, mask)) return error;
  remember(qp, *attributes, mask);
  if (changes && attributes->qp_state == IBV_QPS_ERR) qp.broken = true;
  return 0;
}

int ShadowVerbs::query_qp(ibv_qp* shown, ibv_qp_attr* out, int mask, ibv_qp_init_attr* init_out) {
  const std::lock_guard hold(engine_.control);
  auto& qp = *static_cast<VirtualQp*>(shown);
  const std::lock_guard state(qp.lock);
  *out = qp.attr;
  out->cap = qp.init.cap;
  out->cur_qp_state = qp.attr.qp_state;
  *init_out = qp.init;
  if (qp.physical == nullptr || Engine::waits(qp)) return 0;
  ibv_qp_attr now{};
  ibv_qp_init_attr unused{};
  if (const int error = engine_.physical.query_qp(qp.physical, &now, mask, &unused)) return error;
  out->qp_state = out->cur_qp_state = now.qp_state;
  out->sq_psn = now.sq_psn;
  out->rq_psn = now.rq_psn;
  return 0;
}

int ShadowVerbs::destroy_qp(ibv_qp* shown) {
  auto* qp = static_cast<VirtualQp*>(shown);
  auto& context = VirtualContext::of(qp->context);
  const std::lock_guard pumping(context.pump_lock);
  const std::lock_guard hold(engine_.control);
  if (engine_.connections != nullptr) engine_.connections->destroyed(*qp);
  if (qp->marker_path != nullptr && engine_.physical.destroy_ah(qp->marker_path) == 0)
    qp->marker_path = nullptr;
  if (qp->physical != nullptr) {
    const std::uint32_t number = qp->physical->qp_num;
    if (const int error = engine_.physical.destroy_qp(qp->physical)) return error;
    const std::unique_lock tables(context.tables);
    context.by_physical_number.erase(number);
  }
  if (context.numbers_differ) context.retired_numbers.insert(qp->qp_num);
  for (ibv_cq* one : {qp->send_cq, qp->recv_cq}) {
    auto* cq = static_cast<VirtualCq*>(one);
    const std::lock_guard queue(cq->lock);  // providers clean CQs as well
    std::erase_if(cq->backlog, [&](const ibv_wc& wc) { return wc.qp_num == qp->qp_num; });
  }
  --static_cast<VirtualCq*>(qp->send_cq)->users;
  --static_cast<VirtualCq*>(qp->recv_cq)->users;
  if (qp->srq != nullptr) --static_cast<VirtualSrq*>(qp->srq)->users;
  std::erase(context.qps, qp);
  delete qp;
  return 0;
}

}  // namespace rdmove::shadow
