#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "shadowdev/device/mover.hpp"
#include "shadowdev/device/plumbing.hpp"

namespace rdmove::shadow {
namespace {

/// After which a QP alone is given up, with a flush error, rather than the process with it.
constexpr unsigned kMostTries = 8;

}  // namespace

Result<void> Mover::begin_restore(std::string_view device) {
  const Lock hold(engine_.control);
  if (stage_ != Stage::Parked)
    return problem(ProblemCode::BadInput, fmt::format("{} is not parked.", context_.name));
  ibv_context* opened = engine_.physical.open(device);
  if (opened == nullptr) return failed("opening the device that has come", errno);
  std::vector<ibv_gid_entry> gids;
  ibv_device_attr limits{};
  int error = engine_.physical.gid_table(opened, &gids);
  if (error == 0) error = engine_.physical.device_attributes(opened, &limits);
  const bool same = has_our_gids(gids);
  const bool enough = limits.max_qp >= static_cast<int>(context_.qps.size());
  if (error != 0 || !same || !enough) {
    engine_.physical.close(opened);
    if (error != 0) return failed("looking at the device that has come", error);
    return problem(ProblemCode::BadInput,
                   fmt::format("{} has {} and cannot take what {} held. Give the VM a VF with its identity.",
                               device, same ? "too few queue pairs" : "another GID", context_.name));
  }
  context_.gids.refresh(gids);
  context_.physical = opened;
  context_.name = device;
  add_to_set(context_.context.async_fd, opened->async_fd);
  {
    const std::unique_lock tables(context_.tables);
    context_.by_physical_number.clear();
    context_.physical_keys.clear();
  }
  ++context_.moves;
  progress_.clear();
  stage_ = Stage::Making;
  return {};
}

bool Mover::has_our_gids(const std::vector<ibv_gid_entry>& now) const {
  const auto is_there = [&](const ibv_gid& gid) {
    return std::any_of(now.begin(), now.end(), [&](const ibv_gid_entry& one) { return same(one.gid, gid); });
  };
  bool used = false;
  for (const VirtualQp* qp : context_.qps) {
    if (qp->lost || qp->attr.ah_attr.is_global == 0) continue;
    used = true;
    if (!is_there(qp->source)) return false;
  }
  for (const VirtualAh* ah : context_.ahs) {
    const ibv_gid_entry* row = context_.gids.at(ah->attributes.grh.sgid_index);
    if (ah->attributes.is_global == 0 || row == nullptr) continue;
    used = true;
    if (!is_there(row->gid)) return false;
  }
  const auto rows = context_.gids.rows();
  return used || rows.empty() ||
         std::any_of(rows.begin(), rows.end(), [&](const ibv_gid_entry& one) { return is_there(one.gid); });
}

Result<Mover::Step> Mover::restore() {
  Lock hold(engine_.control);
  if (stage_ == Stage::Making) {
    if (const auto made = make(); !made) return tl::unexpected(made.error());
    stage_ = Stage::Connecting;
    context_.ready = true;
    context_.presence = Presence::Live;
  }
  if (stage_ != Stage::Connecting)
    return problem(ProblemCode::BadInput, fmt::format("{} is not being restored.", context_.name));
  return connect(hold);
}

Result<void> Mover::make() {
  Verbs& physical = engine_.physical;
  for (VirtualPd* pd : context_.pds) {
    if (pd->physical == nullptr) pd->physical = physical.alloc_pd(context_.physical);
    if (pd->physical == nullptr) return failed("making a protection domain", errno);
  }
  for (VirtualChannel* channel : context_.channels) {
    if (channel->physical != nullptr) continue;
    channel->physical = physical.create_channel(context_.physical);
    if (channel->physical == nullptr) return failed("making a channel", errno);
    add_to_set(channel->fd, channel->physical->fd);
  }
  for (VirtualCq* cq : context_.cqs) {
    const std::lock_guard queue(cq->lock);
    if (cq->physical == nullptr)
      if (const int error = make_cq(engine_, *cq)) return failed("making a CQ", error);
    if (cq->armed.load() == Armed::No) continue;
    if (const int error = ibv_req_notify_cq(cq->physical, cq->armed.load() == Armed::Solicited ? 1 : 0))
      return failed("arming a CQ", error);
  }
  for (VirtualMr* mr : context_.mrs) {
    if (mr->physical != nullptr) continue;
    mr->physical = physical.reg_mr(static_cast<VirtualPd*>(mr->pd)->physical, mr->addr, mr->length, mr->iova,
                                   mr->access);
    if (mr->physical == nullptr) return failed("registering memory", errno);
    const std::unique_lock tables(context_.tables);
    context_.local_keys[mr->lkey] = mr->physical->lkey;
    context_.physical_keys.insert({mr->physical->lkey, mr->physical->rkey});
  }
  for (VirtualAh* ah : context_.ahs) {
    if (ah->physical != nullptr) continue;
    ibv_ah_attr path = Engine::physical_path(context_, ah->attributes);
    ah->physical = physical.create_ah(static_cast<VirtualPd*>(ah->pd)->physical, &path);
    if (ah->physical == nullptr) return failed("making an address handle", errno);
  }
  for (VirtualSrq* srq : context_.srqs) {
    const std::lock_guard receives(srq->receive_lock);
    if (srq->physical == nullptr) {
      ibv_srq_init_attr init{srq, srq->attributes};
      srq->physical = physical.create_srq(static_cast<VirtualPd*>(srq->pd)->physical, &init);
      if (srq->physical == nullptr) return failed("making an SRQ", errno);
    }
    while (!srq->parked.empty()) {
      if (const int error = engine_.post_receive(*srq, srq->parked.front()))
        return failed("posting to an SRQ", error);
      srq->parked.pop_front();
    }
    srq->holds = false;
  }
  for (VirtualQp* qp : context_.qps) {
    const int error = engine_.make(*qp);
    if (error == 0) continue;
    if (++progress_[qp].tries > kMostTries) {
      engine_.lose(*qp, false);
      engine_.end_connection(*qp);
      continue;
    }
    return failed("making a QP", error);
  }
  return {};
}

void Mover::reconnect(VirtualQp& qp, Progress& progress, Lock& hold) {
  if (qp.phase.load() >= Phase::Parked) {
    Question question = about(qp, Ask::Reconnect);
    question.physical_number = qp.physical->qp_num;
    question.psn = qp.send_psn;
    question.pairs = engine_.keys_of(qp);
    const auto answer = ask(qp, question, hold);
    if (!is_here(&qp) || !answer || answer->said == Said::NotYet) return;
    const auto known = static_cast<std::uint32_t>(qp.peer_epoch);
    if (answer->said != Said::Yes || (answer->epoch != known && answer->epoch != known + 1)) {
      progress.done = true;  // that end is gone for good
      engine_.lose(qp, false);
      return engine_.end_connection(qp);
    }
    if (engine_.connect(qp, answer->physical_number, answer->send_psn) != 0) {
      if (++progress.tries <= kMostTries) return;
      progress.done = true;
      engine_.lose(qp, false);
      return engine_.end_connection(qp);
    }
    Engine::commit(qp, answer->epoch, answer->pairs);
    engine_.release(qp);
  }
  progress.done = progress.tells_go = true;
}

Result<Mover::Step> Mover::connect(Lock& hold) {
  bool done = true;
  const std::vector<VirtualQp*> all = context_.qps;
  for (VirtualQp* qp : all) {
    if (!is_here(qp)) continue;
    Progress& progress = progress_[qp];
    if (!progress.done) {
      if (qp->lost || qp->phase.load() < Phase::Parked) {
        progress.done = true;  // or its peer has connected us, and has said go
      } else if (qp->phase.load() == Phase::Waiting) {
        progress.done = true;  // its peer was first, and says go
      } else if (has_peer(*qp)) {
        reconnect(*qp, progress, hold);
      } else {
        if (const int error = engine_.connect(*qp, 0, 0)) return failed("connecting a QP", error);
        engine_.release(*qp);
        progress.done = true;
      }
    }
    if (!is_here(qp)) continue;
    if (progress.tells_go && !qp->lost) {
      Question go = about(*qp, Ask::Go);
      go.from_epoch = static_cast<std::uint32_t>(qp->epoch);
      const auto answer = ask(*qp, go, hold);
      if (answer && answer->said != Said::NotYet) progress.tells_go = false;
    }
    done = done && progress.done && !progress.tells_go;
  }
  if (!done) return Step::Again;
  context_.moving = false;
  stage_ = Stage::Live;
  announce(hold);
  engine_.came_back.notify_all();
  return Step::Done;
}

/// Once: what somebody sends all the same is lost by right.
void Mover::hold_senders(Lock& hold) {
  asked_senders_ = true;
  senders_.clear();
  const bool has_any = std::any_of(context_.qps.begin(), context_.qps.end(),
                                   [](const VirtualQp* qp) { return qp->qp_type == IBV_QPT_UD; });
  if (!has_any || engine_.peers == nullptr) return;
  Question question;
  question.ask = Ask::Away;
  const GidTable ours = context_.gids;
  hold.unlock();
  for (const auto& [from, to] : engine_.peers->known()) {
    if (!ours.has(from)) continue;
    const auto answer = engine_.ask(from, to, question);
    if (answer && answer->said == Said::Yes) senders_.emplace_back(from, to);
  }
  hold.lock();
}

/// Those who keep their datagrams are asked until they have heard it.
void Mover::tell_senders(Question question, Lock& hold) {
  const GidTable ours = context_.gids;
  const auto keep = std::exchange(senders_, {});
  hold.unlock();
  for (const auto& [from, to] : engine_.peers->known()) {
    if (!ours.has(from)) continue;
    const auto is_it = [&, &mine = from, &other = to](const auto& one) {
      return same(one.first, mine) && same(one.second, other);
    };
    const bool keeps = std::any_of(keep.begin(), keep.end(), is_it);
    for (unsigned tries = keeps ? kMostTries : 1; tries > 0 && !engine_.ask(from, to, question); --tries) {
    }
  }
  hold.lock();
}

void Mover::announce(Lock& hold) {
  Question question;
  question.ask = Ask::Numbers;
  for (const VirtualQp* qp : context_.qps)
    if (qp->qp_type == IBV_QPT_UD && qp->physical != nullptr && question.pairs.size() < kMostPairs)
      question.pairs.emplace_back(qp->qp_num, qp->physical->qp_num);
  if (question.pairs.empty() || engine_.peers == nullptr) return;
  tell_senders(question, hold);
}

}  // namespace rdmove::shadow
