#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shadowdev/device/in_call.hpp"
#include "shadowdev/device/mover.hpp"
#include "shadowdev/device/plumbing.hpp"

namespace rdmove::shadow {

tl::unexpected<Problem> Mover::failed(const char* what, int error) const {
  return problem(ProblemCode::Failed,
                 fmt::format("{}: {} failed ({}). It is tried again with the next round.", context_.name,
                             what, std::strerror(error)));
}

bool Mover::is_here(const VirtualQp* qp) const {
  return std::find(context_.qps.begin(), context_.qps.end(), qp) != context_.qps.end();
}

bool Mover::has_peer(const VirtualQp& qp) {
  return qp.qp_type != IBV_QPT_UD && !qp.lost && !qp.broken && !qp.alone &&
         (qp.attr.qp_state == IBV_QPS_RTR || qp.attr.qp_state == IBV_QPS_RTS);
}

Question Mover::about(const VirtualQp& qp, Ask what) const {
  Question question;
  question.ask = what;
  question.from_number = qp.qp_num;
  question.to_number = qp.attr.dest_qp_num;
  question.from_epoch = static_cast<std::uint32_t>(qp.epoch) + (qp.committed ? 0 : 1);
  return question;
}

std::optional<Answer> Mover::ask(VirtualQp& qp, const Question& question, Lock& hold) {
  const ibv_gid from = qp.source;
  const ibv_gid to = qp.attr.ah_attr.grh.dgid;
  hold.unlock();
  auto answer = engine_.ask(from, to, question);
  hold.lock();
  return answer;
}

Result<void> Mover::begin_park() {
  // No word that the last move is off may be on its way. Not waited for: its thread may wait for an answer
  // that this one has to read.
  Lock pumping(context_.pump_lock, std::try_to_lock);
  if (!pumping.owns_lock())
    return problem(ProblemCode::NotYet,
                   fmt::format("{}: a peer is just being told of the last move. Try again.", context_.name));
  Lock hold(engine_.control);
  if (context_.presence != Presence::Live || context_.moving)
    return problem(ProblemCode::BadInput, fmt::format("{} is not there, or moves already.", context_.name));
  for (const VirtualQp* qp : context_.qps) {
    if (qp->phase.load() == Phase::Waiting)
      return problem(ProblemCode::NotYet,
                     fmt::format("{}: QP {}'s peer is just coming back from a move. Try again.",
                                 context_.name, qp->qp_num));
  }
  context_.moving = true;
  context_.ready = false;  // peers that come back now wait until we do
  stage_ = Stage::Draining;
  progress_.clear();
  asked_senders_ = false;
  vacuum_.reset();
  for (VirtualCq* cq : context_.cqs) cq->target.store(&cq->gate, std::memory_order_release);
  for (VirtualQp* qp : context_.qps) {
    {
      const std::lock_guard state(qp->lock);
      qp->own_move = true;
      qp->committed = false;
    }
    engine_.hold(*qp);
  }
  hold.unlock();
  pumping.unlock();
  if (quiesce(std::chrono::steady_clock::now() + engine_.options.quiesce_within)) return {};
  roll_back();
  return problem(
      ProblemCode::Failed,
      fmt::format("{}: a thread stays inside the RDMA device. The process is a holdout; let it go on.",
                  context_.name));
}

Result<Mover::Step> Mover::park() {
  Lock hold(engine_.control);
  switch (stage_) {
    case Stage::Draining:
      return drain(hold);
    case Stage::Freezing:
      return freeze(hold);
    case Stage::Clearing:
      return clear();
    case Stage::Parked:
      return Step::Done;
    default:
      return problem(ProblemCode::BadInput, fmt::format("{} is not being parked.", context_.name));
  }
}

bool Mover::settle_with_peer(VirtualQp& qp, Progress& progress, Lock& hold) {
  if (!progress.told) {
    progress.asked = true;
    const auto answer = ask(qp, about(qp, Ask::Hold), hold);
    if (!is_here(&qp) || !answer) return false;
    progress.nobody = answer->said == Said::NotThere;
    progress.told = answer->said == Said::Yes;
    if (!progress.told) return progress.nobody;
  }
  if (engine_.post_marker(qp) != 0 || !engine_.drained(qp)) return false;
  if (qp.broken || qp.phase.load() >= Phase::Frozen) return true;
  const auto answer = ask(qp, about(qp, Ask::Drained), hold);
  if (!is_here(&qp) || !answer) return false;
  progress.nobody = answer->said == Said::NotThere;
  if (progress.nobody) return true;
  if (answer->said != Said::Yes || !answer->drained) return false;
  if (answer->moved || qp.qp_type == IBV_QPT_UC) return true;  // it is away already; UC may have lost some
  std::uint32_t send = 0;
  std::uint32_t receive = 0;
  return engine_.psns(qp, send, receive) == 0 && send == answer->receive_psn && receive == answer->send_psn;
}

Result<Mover::Step> Mover::drain(Lock& hold) {
  const std::vector<VirtualQp*> all = context_.qps;
  for (VirtualQp* qp : all)
    if (const int error = engine_.grant(*qp)) return failed("letting the peer's marker in", error);
  if (!asked_senders_) hold_senders(hold);
  bool agreed = true;
  for (VirtualQp* qp : all) {
    if (!is_here(qp)) continue;  // its program has destroyed it
    Progress& progress = progress_[qp];
    if (progress.agreed) continue;
    engine_.harvest_queues_of(*qp);
    if (has_peer(*qp)) {
      if (engine_.connections != nullptr && engine_.connections->bury(*qp) != 0) {
        agreed = false;  // its program is in the middle of a call, or its connection
        continue;
      }
      progress.agreed = settle_with_peer(*qp, progress, hold);
    } else {
      const bool sends = qp->qp_type == IBV_QPT_UD && !qp->lost;
      progress.agreed =
          !sends || (engine_.post_marker(*qp) == 0 && engine_.drained(*qp) && engine_.is_silent(*qp));
    }
    agreed = agreed && progress.agreed;
  }
  if (!agreed) return Step::Again;
  for (VirtualSrq* srq : context_.srqs) {
    const std::lock_guard receives(srq->receive_lock);
    srq->holds = true;
  }
  for (VirtualQp* qp : context_.qps) {
    const std::lock_guard state(qp->lock);
    qp->alone = qp->alone || progress_[qp].nobody;
  }
  stage_ = Stage::Freezing;
  return Step::Again;
}

Result<Mover::Step> Mover::freeze(Lock& hold) {
  bool away = true;
  const std::vector<VirtualQp*> all = context_.qps;
  for (VirtualQp* qp : all) {
    if (!is_here(qp)) continue;
    if (qp->phase.load() == Phase::Parked) continue;
    if (const int error = engine_.freeze(*qp)) return failed("freezing a QP", error);
    Progress& progress = progress_[qp];
    if (has_peer(*qp) && !progress.frozen) {
      const auto answer = ask(*qp, about(*qp, Ask::Freeze), hold);
      if (!is_here(qp)) continue;
      progress.frozen = answer && answer->said == Said::Yes;  // if not, it is done when we come back
    }
    const int error = engine_.take_away(*qp);
    if (error == EAGAIN)
      away = false;
    else if (error != 0)
      return failed("destroying a QP", error);
  }
  if (away) stage_ = Stage::Clearing;
  return Step::Again;
}

Result<Mover::Step> Mover::clear() {
  Verbs& physical = engine_.physical;
  if (engine_.connections != nullptr && engine_.connections->leave(context_) != 0) return Step::Again;
  for (VirtualSrq* srq : context_.srqs) {
    if (srq->physical == nullptr) continue;
    if (!vacuum_ || vacuum_->srq != srq) vacuum_.emplace(*srq);
    int error = vacuum_->round(engine_);
    if (error == EAGAIN) return Step::Again;
    if (error == 0) error = vacuum_->clean(engine_);
    if (error == 0) error = physical.destroy_srq(srq->physical);
    if (error != 0) return failed("emptying an SRQ", error);
    srq->physical = nullptr;
    const std::lock_guard receives(srq->receive_lock);
    const auto left = srq->ring.last(vacuum_->taken);
    srq->parked.insert(srq->parked.begin(), left.begin(), left.end());
    srq->ring.clear();
    vacuum_.reset();
  }
  const auto destroy = [&](auto* object, auto&& call) {
    if (object->physical == nullptr) return 0;
    const int error = call(object->physical);
    if (error == 0) object->physical = nullptr;
    return error;
  };
  for (VirtualAh* ah : context_.ahs)
    if (const int error = destroy(ah, [&](ibv_ah* one) { return physical.destroy_ah(one); }))
      return failed("destroying an address handle", error);
  for (VirtualMr* mr : context_.mrs)
    if (const int error = destroy(mr, [&](ibv_mr* one) { return physical.dereg_mr(one); }))
      return failed("deregistering memory", error);
  for (VirtualCq* cq : context_.cqs) {
    if (cq->channel != nullptr) engine_.collect(*static_cast<VirtualChannel*>(cq->channel));
    const std::lock_guard queue(cq->lock);
    if (const int error = destroy(cq, [&](ibv_cq* one) { return physical.destroy_cq(one); }))
      return failed("destroying a CQ", error);
  }
  for (VirtualChannel* channel : context_.channels) {
    if (channel->physical != nullptr) remove_from_set(channel->fd, channel->physical->fd);
    if (const int error =
            destroy(channel, [&](ibv_comp_channel* one) { return physical.destroy_channel(one); }))
      return failed("destroying a channel", error);
  }
  for (VirtualPd* pd : context_.pds)
    if (const int error = destroy(pd, [&](ibv_pd* one) { return physical.dealloc_pd(one); }))
      return failed("giving back a protection domain", error);
  engine_.collect_async(context_);
  if (context_.physical != nullptr) {
    remove_from_set(context_.context.async_fd, context_.physical->async_fd);
    if (const int error = physical.close(context_.physical)) return failed("closing the device", error);
    context_.physical = nullptr;
  }
  context_.presence = Presence::Parked;
  stage_ = Stage::Parked;
  return Step::Done;
}

void Mover::roll_back() {
  Lock hold(engine_.control);
  if (stage_ != Stage::Draining) return;
  if (!senders_.empty()) {
    Question question;
    question.ask = Ask::Back;
    tell_senders(question, hold);
  }
  const std::vector<VirtualQp*> all = context_.qps;
  for (VirtualQp* qp : all) {
    if (!is_here(qp)) continue;
    {
      const std::lock_guard state(qp->lock);
      qp->own_move = false;
      qp->owes_unhold = qp->owes_unhold || progress_[qp].asked;
    }
    engine_.unhold(*qp);
    hold.unlock();
    engine_.tell_move_is_off(*qp);
    hold.lock();
  }
  context_.moving = false;
  context_.ready = true;
  stage_ = Stage::Live;
  engine_.came_back.notify_all();
}

void Mover::lose() {
  Lock hold(engine_.control);
  for (VirtualCq* cq : context_.cqs) cq->target.store(&cq->gate, std::memory_order_release);
  for (VirtualQp* qp : context_.qps) qp->target.store(&qp->gate, std::memory_order_release);
  quiesce(std::chrono::steady_clock::now() + engine_.options.quiesce_within);
  for (VirtualCq* cq : context_.cqs) {  // what was written before it went is still in memory
    const std::lock_guard queue(cq->lock);
    while (engine_.harvest(*cq) > 0) {
    }
  }
  if (vacuum_) vacuum_->clean(engine_);
  std::vector<std::tuple<ibv_gid, ibv_gid, Question>> peers;
  for (VirtualQp* qp : context_.qps) {
    if (has_peer(*qp)) peers.emplace_back(qp->source, qp->attr.ah_attr.grh.dgid, about(*qp, Ask::Gone));
    engine_.lose(*qp, true);
    engine_.end_connection(*qp);
  }
  Engine::raise(context_, ibv_async_event{{}, IBV_EVENT_DEVICE_FATAL});
  context_.presence = Presence::Lost;
  context_.moving = false;
  context_.ready = false;
  stage_ = Stage::Live;
  engine_.came_back.notify_all();
  hold.unlock();
  for (const auto& [from, to, question] : peers) engine_.ask(from, to, question);
}

}  // namespace rdmove::shadow
