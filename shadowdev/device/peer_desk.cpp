#include "shadowdev/device/peer_desk.hpp"

#include <algorithm>
#include <cerrno>

#include "shadowdev/device/in_call.hpp"
#include "shadowdev/device/plumbing.hpp"

namespace rdmove::shadow {
namespace {

Answer says(Said said) {
  Answer answer;
  answer.said = said;
  return answer;
}

VirtualQp* find(VirtualContext& context, std::uint32_t number) {
  const auto found = std::find_if(context.qps.begin(), context.qps.end(),
                                  [&](const VirtualQp* qp) { return qp->qp_num == number; });
  return found == context.qps.end() ? nullptr : *found;
}

/// Of none of its QPs.
bool is_of_device(Ask what) {
  return what == Ask::Numbers || what == Ask::Away || what == Ask::Back;
}

}  // namespace

Answer PeerDesk::refuse() {
  ++engine_.refusals;
  return says(Said::Refused);
}

std::vector<std::byte> PeerDesk::answer(const ibv_gid& from, const ibv_gid& to,
                                        std::span<const std::byte> bytes) {
  const std::lock_guard hold(engine_.control);
  const auto question = decode_question(bytes);
  return encode(question ? answer(from, to, *question) : refuse());
}

Answer PeerDesk::answer(const ibv_gid& from, const ibv_gid& to, const Question& question) {
  const auto context =
      std::find_if(engine_.contexts.begin(), engine_.contexts.end(), [&](VirtualContext* one) {
        return one->gids.has(to) && (is_of_device(question.ask) || find(*one, question.to_number) != nullptr);
      });
  if (context == engine_.contexts.end()) return says(Said::NotThere);
  if (question.ask == Ask::Meet) return meet(**context, question);
  if (question.ask == Ask::Numbers) return numbers(**context, from, question);
  if (is_of_device(question.ask)) {
    if (question.ask == Ask::Away)
      mark_away(**context, from);
    else
      mark_back(engine_, **context, from);
    return says(Said::Yes);
  }

  VirtualQp& qp = *find(**context, question.to_number);
  const bool connected = qp.qp_type != IBV_QPT_UD && qp.attr.dest_qp_num == question.from_number &&
                         (qp.attr.qp_state == IBV_QPS_RTR || qp.attr.qp_state == IBV_QPS_RTS);
  if (connected && !same(qp.attr.ah_attr.grh.dgid, from)) return refuse();  // somebody else's
  const auto known = static_cast<std::uint32_t>(qp.peer_epoch);
  const bool is_next = question.from_epoch == known + 1;
  const bool is_same = question.from_epoch == known;
  if (connected && question.ask == Ask::Disconnect)  // a QP in ERR has a program that waits for it too
    return is_next || is_same ? disconnect(qp) : refuse();
  if (!connected || qp.lost || qp.broken) return says(Said::NotThere);

  switch (question.ask) {
    case Ask::Hold:
      return is_next ? hold(qp) : refuse();
    case Ask::Drained:
      return is_next ? drained(qp) : refuse();
    case Ask::Freeze:
      return is_next ? freeze(qp) : refuse();
    case Ask::Unhold:
      return is_next ? unhold(qp) : refuse();
    case Ask::Reconnect:
      return is_next || is_same ? reconnect(**context, qp, question) : refuse();
    case Ask::Go:
      return is_same ? go(qp) : refuse();
    case Ask::Gone:
      return is_next || is_same ? gone(qp) : refuse();
    case Ask::Revoke:
      if (!is_same) return refuse();
      engine_.revoke(qp);
      return says(Said::Yes);
    case Ask::Keys:
      return is_same ? keys(**context, qp, question) : refuse();
    default:
      return refuse();
  }
}

Answer PeerDesk::meet(VirtualContext& context, const Question& question) {
  const VirtualQp& qp = *find(context, question.to_number);
  if (qp.physical == nullptr) return says(Said::NotYet);
  Answer answer = says(Said::Yes);
  answer.physical_number = qp.physical->qp_num;
  answer.moved = context.moves != 0;
  answer.epoch = static_cast<std::uint32_t>(qp.epoch);
  return answer;
}

Answer PeerDesk::numbers(VirtualContext& context, const ibv_gid& from, const Question& question) {
  take_numbers(context, from, question.pairs);
  mark_back(engine_, context, from);
  Answer answer = says(Said::Yes);
  if (context.moves == 0) return answer;
  for (const VirtualQp* qp : context.qps)
    if (qp->qp_type == IBV_QPT_UD && qp->physical != nullptr && answer.pairs.size() < kMostPairs)
      answer.pairs.emplace_back(qp->qp_num, qp->physical->qp_num);
  return answer;
}

Answer PeerDesk::hold(VirtualQp& qp) {
  const Phase phase = qp.phase.load();
  if (phase == Phase::Waiting) return says(Said::NotYet);
  if (phase >= Phase::Frozen) return says(Said::Yes);
  {
    const std::lock_guard state(qp.lock);
    qp.held_by_peer = true;
    qp.committed = false;
  }
  engine_.hold(qp);
  if (engine_.connections != nullptr && engine_.connections->bury(qp) != 0) return says(Said::NotYet);
  // The asking end has let our marker in before it asked.
  const auto deadline = std::chrono::steady_clock::now() + engine_.options.quiesce_within;
  if (!quiesce(deadline) || engine_.grant(qp) != 0 || engine_.post_marker(qp) != 0) return says(Said::NotYet);
  return says(Said::Yes);
}

Answer PeerDesk::drained(VirtualQp& qp) {
  if (qp.phase.load() < Phase::Held) return says(Said::NotYet);
  Answer answer = says(Said::Yes);
  answer.drained = answer.moved = qp.phase.load() >= Phase::Frozen;
  if (answer.moved) return answer;
  engine_.harvest_queues_of(qp);
  answer.drained = engine_.drained(qp);
  if (answer.drained && engine_.psns(qp, answer.send_psn, answer.receive_psn) != 0) return says(Said::NotYet);
  return answer;
}

Answer PeerDesk::freeze(VirtualQp& qp) {
  if (qp.phase.load() < Phase::Held) return says(Said::NotYet);
  if (qp.phase.load() >= Phase::Parked) return says(Said::Yes);
  if (!engine_.drained(qp)) return says(Said::NotYet);
  if (engine_.freeze(qp) != 0 || engine_.take_away(qp) != 0) return says(Said::NotYet);
  return says(Said::Yes);
}

Answer PeerDesk::reconnect(VirtualContext& context, VirtualQp& qp, const Question& question) {
  const bool is_next = question.from_epoch == static_cast<std::uint32_t>(qp.peer_epoch) + 1;
  if (!is_next && (qp.phase.load() == Phase::Held || qp.peer_physical != question.physical_number))
    return refuse();
  if (is_next) {
    if (const Answer away = freeze(qp); away.said != Said::Yes) return away;
    if (!context.ready || context.physical == nullptr || qp.phase.load() == Phase::Waiting)
      return says(Said::NotYet);
    if (engine_.make(qp) != 0 || engine_.connect(qp, question.physical_number, question.psn) != 0)
      return says(Said::NotYet);
    Engine::commit(qp, question.from_epoch, question.pairs);
    qp.phase = Phase::Waiting;
  }
  if (qp.physical == nullptr) return says(Said::NotYet);
  Answer answer = says(Said::Yes);
  answer.physical_number = qp.physical->qp_num;
  answer.send_psn = qp.send_psn;
  answer.epoch = static_cast<std::uint32_t>(qp.epoch);
  answer.pairs = engine_.keys_of(qp);
  return answer;
}

Answer PeerDesk::go(VirtualQp& qp) {
  if (qp.phase.load() == Phase::Waiting) engine_.release(qp);
  return says(Said::Yes);
}

Answer PeerDesk::gone(VirtualQp& qp) {
  // Held, its own requests find out for themselves; from freezing on there is nobody to ask.
  if (qp.phase.load() < Phase::Frozen) return unhold(qp);
  if (qp.phase.load() == Phase::Frozen) {
    qp.doomed = true;  // what it flushes comes first
    ++engine_.to_pump;
  } else {
    engine_.lose(qp, true);
    engine_.end_connection(qp);
  }
  return says(Said::Yes);
}

Answer PeerDesk::disconnect(VirtualQp& qp) {
  const Phase phase = qp.phase.load();
  if (!qp.lost && qp.own_move) return says(Said::NotYet);  // after our data: when we are back
  if (!qp.lost && phase == Phase::Held) unhold(qp);
  if (!qp.lost && phase == Phase::Frozen) {
    qp.doomed = true;
    ++engine_.to_pump;
    return says(Said::Yes);
  }
  if (phase >= Phase::Parked) engine_.lose(qp, false);  // it has gone for good while it was away
  engine_.end_connection(qp);
  return says(Said::Yes);
}

Answer PeerDesk::unhold(VirtualQp& qp) {
  {
    const std::lock_guard state(qp.lock);
    qp.held_by_peer = false;
  }
  engine_.unhold(qp);
  return says(Said::Yes);
}

Answer PeerDesk::keys(VirtualContext& context, VirtualQp& qp, const Question& question) {
  if (!context.ready) return says(Said::NotYet);
  Answer answer = says(Said::Yes);
  for (const auto& [asked, unused] : question.pairs) {
    static_cast<void>(unused);
    const auto found = std::find_if(context.mrs.begin(), context.mrs.end(), [&, key = asked](VirtualMr* mr) {
      return mr->rkey == key && mr->pd == qp.pd && mr->physical != nullptr;
    });
    const std::shared_lock tables(context.tables);
    answer.pairs.emplace_back(
        asked, found == context.mrs.end() ? Engine::dead_key(context) : (*found)->physical->rkey);
  }
  return answer;
}

}  // namespace rdmove::shadow
