// What becomes of connections when a device leaves, here or at their other end.
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "shadowdev/cm/shadow_cm.hpp"
#include "shadowdev/device/plumbing.hpp"

namespace rdmove::shadow {
namespace {

using std::chrono::steady_clock;

/// After which a connection's end is over although nobody could be told; as the kernel gives up.
constexpr std::chrono::seconds kGoodbyeWithin{60};
/// A guest's agent that was started again does not know its programs for a moment.
constexpr unsigned kMissedIsGone = 2;
/// Of all connections, in one go: other work waits meanwhile.
constexpr unsigned kLooksAtOnce = 8;

}  // namespace

ShadowCm::Pinned ShadowCm::id_of(const VirtualQp& qp) {
  const std::lock_guard hold(lock_);
  const auto has_it = [&](const VirtualId* id) {
    return id->qp == &qp || (id->qp == nullptr && id->number == qp.qp_num && id->verbs == qp.context);
  };
  const auto found = std::find_if(ids_.begin(), ids_.end(), has_it);
  return pin(found == ids_.end() ? nullptr : *found);
}

VirtualQp* ShadowCm::qp_of(const VirtualId& id) {
  if (id.verbs == nullptr || !is_virtual(*id.verbs)) return nullptr;
  const auto& qps = VirtualContext::of(id.verbs).qps;
  const auto is_it = [&](const VirtualQp* qp) {
    return id.qp == qp || (id.qp == nullptr && id.number != 0 && id.number == qp->qp_num);
  };
  const auto found = std::find_if(qps.begin(), qps.end(), is_it);
  return found == qps.end() ? nullptr : *found;
}

rdma_event_channel* ShadowCm::graveyard() {
  if (graveyard_ == nullptr) graveyard_ = real_.rdma_create_event_channel();
  return graveyard_;
}

/// With its call and its channel's reading.
int ShadowCm::hide(VirtualId& id) {
  if (id.buried) return 0;
  rdma_event_channel* to = graveyard();
  if (to == nullptr) return EAGAIN;
  if (real_.rdma_migrate_id(id.physical, to) != 0) return EAGAIN;
  if (id.synchronous) id.events->physical = nullptr;  // its own channel ends with that
  id.buried = true;
  return 0;
}

int ShadowCm::bury(const VirtualQp& qp) {
  const Pinned id = id_of(qp);
  if (id == nullptr || qp.qp_type == IBV_QPT_UD) return 0;
  const std::unique_lock one(id->call, std::try_to_lock);
  if (!one.owns_lock()) return EAGAIN;
  if (id->physical == nullptr) return 0;
  const std::unique_lock reading(id->events->reading, std::try_to_lock);
  if (!reading.owns_lock()) return EAGAIN;
  const CmState state = id->state;
  if (state == CmState::Requested) return EAGAIN;  // its program is about to accept
  if (state != CmState::Connecting && state != CmState::Connected) return 0;
  id->to_exhume = false;
  if (const int error = hide(*id)) return error;
  return id->state == CmState::Connected ? 0 : EAGAIN;  // ESTABLISHED is still to come
}

void ShadowCm::exhume(const VirtualQp& qp) {
  const Pinned id = id_of(qp);
  if (id != nullptr && id->buried) id->to_exhume = true;
}

int ShadowCm::retire(const VirtualQp& qp) {
  const Pinned id = id_of(qp);
  if (id == nullptr) return 0;
  const std::unique_lock one(id->call, std::try_to_lock);
  if (!one.owns_lock()) return EAGAIN;
  return bury_for_good(*id);
}

/// With its call.
int ShadowCm::bury_for_good(VirtualId& id) {
  if (id.physical == nullptr) return 0;
  {
    const std::unique_lock reading(id.events->reading, std::try_to_lock);
    if (!reading.owns_lock()) return EAGAIN;
    if (const int error = hide(id)) return error;
  }
  rdma_cm_id* physical = give_physical(id);
  {
    const std::lock_guard hold(lock_);
    graves_.emplace_back(
        physical, id.passive.has_value());  // librdmacm calls verbs when it is destroyed: not with our locks
  }
  id.buried = id.to_exhume = id.heard_end = false;
  if (id.state == CmState::Leaving && !id.unsaid) raise(id, RDMA_CM_EVENT_DISCONNECTED, 0);
  if (id.state == CmState::Connecting) raise(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
  return 0;
}

int ShadowCm::leave(const VirtualContext& context) {
  for (const Pinned& id : all()) {
    if (id->verbs != &context.context) continue;
    const std::unique_lock one(id->call, std::try_to_lock);
    if (!one.owns_lock() || bury_for_good(*id) != 0) return EAGAIN;
  }
  return 0;
}

void ShadowCm::ended(const VirtualQp& qp) {
  const Pinned id = id_of(qp);
  if (id == nullptr) return;
  const CmState state = id->state;
  if (state == CmState::Connected || state == CmState::Leaving) raise(*id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

std::optional<Farewell> ShadowCm::farewell_of(const VirtualId& id) {
  const std::lock_guard control(engine_.control);
  if (const VirtualQp* qp = qp_of(id)) return farewell_of(*qp);
  const std::lock_guard hold(lock_);
  return id.farewell;
}

Farewell ShadowCm::farewell_of(const VirtualQp& qp) {
  Farewell one;
  one.from = qp.source;
  one.to = qp.attr.ah_attr.grh.dgid;
  one.question.ask = Ask::Disconnect;
  one.question.from_number = qp.qp_num;
  one.question.to_number = qp.attr.dest_qp_num;
  one.question.from_epoch = static_cast<std::uint32_t>(qp.epoch);
  return one;
}

void ShadowCm::destroyed(const VirtualQp& qp) {
  const Pinned id = id_of(qp);
  if (id == nullptr || id->state == CmState::Over) return;
  const std::lock_guard hold(lock_);
  id->farewell = farewell_of(qp);
}

void ShadowCm::close_gate() {
  const std::lock_guard hold(lock_);
  gate_closed_ = true;
}

void ShadowCm::open_gate() {
  const std::lock_guard hold(lock_);
  gate_closed_ = false;
  changed_.notify_all();
}

bool ShadowCm::is_settled() {
  const auto ids = all();
  return std::none_of(ids.begin(), ids.end(), [](const Pinned& id) {
    const CmState state = id->state;
    return state == CmState::Requested || state == CmState::Connecting;
  });
}

void ShadowCm::tend() {
  destroy_graves();
  collect();
  for (const Pinned& id : all()) {
    if (id->to_exhume) bring_back(*id);
    if (id->state == CmState::Leaving) say_goodbye(*id);
  }
  say_farewells();
  look_for_peers();
}

void ShadowCm::destroy_graves() {
  decltype(graves_) graves;
  {
    const std::lock_guard hold(lock_);
    graves.swap(graves_);
  }
  for (const auto& [one, passive] : graves) {
    one->qp = nullptr;
    one->srq = nullptr;
    if (passive)
      real_.rdma_destroy_ep(one);
    else
      real_.rdma_destroy_id(one);
  }
}

/// What has come for ids that are out of sight: all but the end of their connections is shown later.
void ShadowCm::collect() {
  for (;;) {
    pollfd one{graveyard_ == nullptr ? -1 : graveyard_->fd, POLLIN, 0};
    if (::poll(&one, 1, 0) != 1) return;
    rdma_cm_event* event = nullptr;
    if (real_.rdma_get_cm_event(graveyard_, &event) != 0) return;
    const rdma_cm_event_type type = event->event;
    const Pinned id = id_of(type == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id : event->id);
    rdma_cm_id* stranger = type == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : nullptr;
    std::unique_ptr<CmEvent> shown;
    if (type == RDMA_CM_EVENT_DISCONNECTED) {
      if (id != nullptr) id->heard_end = true;
    } else if (id != nullptr && stranger == nullptr && type != RDMA_CM_EVENT_DEVICE_REMOVAL &&
               type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
      shown = take(event, *id->events);
    }
    real_.rdma_ack_cm_event(event);
    if (shown != nullptr) push(*id->events, std::move(shown));
    if (stranger != nullptr) real_.rdma_destroy_id(stranger);  // comes too late: it may try again
  }
}

void ShadowCm::bring_back(VirtualId& id) {
  const std::lock_guard one(id.call);
  if (!id.to_exhume || id.physical == nullptr) return;
  if (real_.rdma_migrate_id(id.physical, id.synchronous ? nullptr : id.events->physical) != 0) return;
  if (id.synchronous) watch(*id.events, id.physical->channel);
  id.buried = id.to_exhume = false;
  show(id);
  if (id.heard_end.exchange(false)) raise(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

bool ShadowCm::come_back() {
  bool all_listen = true;
  for (const Pinned& id : all()) {
    const std::lock_guard one(id->call);
    if (id->state != CmState::Listening || id->physical != nullptr) continue;
    all_listen = listen_again(*id) == 0 && all_listen;
  }
  return all_listen;
}

ShadowCm::Told ShadowCm::tell(const Farewell& farewell) {
  const auto answer = engine_.ask(farewell.from, farewell.to, farewell.question);
  return answer && answer->said != Said::NotYet ? Told::Yes : Told::Later;
}

/// Called without locks, by the control thread or the one that disconnects.
void ShadowCm::say_goodbye(VirtualId& id) {
  std::optional<Farewell> farewell;
  {
    const std::unique_lock one(id.call, std::try_to_lock);
    if (!one.owns_lock() || !id.unsaid || id.state != CmState::Leaving || id.buried) return;
    if (!data_is_through(id)) return;
    if (id.physical != nullptr) {  // the move was called off: the kernel says it
      id.unsaid = false;
      to_physical(id);
      real_.rdma_disconnect(id.physical);
      show(id);
      return;
    }
    farewell = farewell_of(id);
  }
  // While we ask we may be asked, of this id too: so without its lock.
  const bool late = steady_clock::now() - id.leaving_since > kGoodbyeWithin;
  if (farewell && !late && tell(*farewell) == Told::Later) return;
  const std::lock_guard one(id.call);
  if (!id.unsaid || id.state != CmState::Leaving) return;
  id.unsaid = false;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  if (id.qp != nullptr) verbs_.modify_qp(id.qp, &attr, IBV_QP_STATE);
  raise(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

/// A disconnect that came while its QP was held is behind what the program had sent before.
bool ShadowCm::data_is_through(const VirtualId& id) {
  const std::lock_guard control(engine_.control);
  VirtualQp* qp = qp_of(id);
  if (qp == nullptr) return true;
  if (Engine::waits(*qp)) return qp->lost;
  engine_.harvest_queues_of(*qp);
  const std::lock_guard state(qp->lock);
  return !id.behind_data || qp->broken || (qp->outstanding.empty() && qp->held.empty());
}

void ShadowCm::look_for_peers() {
  unsigned looks = 0;
  const auto now = steady_clock::now();
  for (const Pinned& id : all()) {
    if (id->state != CmState::Connected || now - id->looked_at < looks_every_ || looks == kLooksAtOnce)
      continue;
    std::optional<Farewell> at;
    {
      const std::unique_lock one(id->call, std::try_to_lock);
      if (!one.owns_lock() || id->physical != nullptr) continue;
      const std::lock_guard control(engine_.control);
      const VirtualQp* qp = qp_of(*id);
      if (qp == nullptr || qp->qp_type == IBV_QPT_UD || Engine::waits(*qp)) continue;
      at = farewell_of(*qp);
    }
    ++looks;
    id->looked_at = now;
    at->question.ask = Ask::Meet;
    const auto answer = engine_.ask(at->from, at->to, at->question);
    if (!answer) continue;  // silence is not an answer: its guest may be on its way
    id->missed = answer->said == Said::NotThere ? id->missed + 1 : 0;
    if (id->missed >= kMissedIsGone && id->state == CmState::Connected)
      raise(*id, RDMA_CM_EVENT_DISCONNECTED, 0);
  }
}

void ShadowCm::say_farewells() {
  decltype(farewells_) due;
  {
    const std::lock_guard hold(lock_);
    due.swap(farewells_);
  }
  std::erase_if(due, [&](const auto& one) {
    return tell(one.first) == Told::Yes || steady_clock::now() - one.second > kGoodbyeWithin;
  });
  const std::lock_guard hold(lock_);
  farewells_.insert(farewells_.end(), due.begin(), due.end());
}

}  // namespace rdmove::shadow
