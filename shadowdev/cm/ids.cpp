// Channels and ids as programs make and destroy them, and what both kinds of id have in common.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shadowdev/cm/shadow_cm.hpp"
#include "shadowdev/device/plumbing.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {

ShadowCm::ShadowCm(ShadowVerbs& verbs, const CmCalls& real, std::chrono::milliseconds looks_every)
    : verbs_(verbs), engine_(verbs.engine()), real_(real), looks_every_(looks_every) {
  const std::lock_guard hold(engine_.control);
  engine_.connections = this;
}

ShadowCm::~ShadowCm() {
  {
    const std::lock_guard hold(engine_.control);
    engine_.connections = nullptr;
  }
  destroy_graves();
  if (graveyard_ != nullptr) real_.rdma_destroy_event_channel(graveyard_);
}

VirtualId* ShadowCm::ours(const rdma_cm_id* id) {
  const std::lock_guard hold(lock_);
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? nullptr : *found;
}

CmChannel* ShadowCm::ours(const rdma_event_channel* channel) {
  const std::lock_guard hold(lock_);
  const auto found = std::find(channels_.begin(), channels_.end(), channel);
  return found == channels_.end() ? nullptr : *found;
}

ShadowCm::Pinned ShadowCm::pin(VirtualId* id) {
  if (id != nullptr) ++id->pins;
  return {id, Unpin{this}};
}

void ShadowCm::unpin(VirtualId& id) {
  const std::lock_guard hold(lock_);
  --id.pins;
  changed_.notify_all();
}

std::vector<ShadowCm::Pinned> ShadowCm::all() {
  const std::lock_guard hold(lock_);
  std::vector<Pinned> pinned;
  for (VirtualId* id : ids_) pinned.push_back(pin(id));
  return pinned;
}

ShadowCm::Pinned ShadowCm::id_of(const rdma_cm_id* physical) {
  const std::lock_guard hold(lock_);
  const auto found = by_physical_.find(physical);
  return pin(found == by_physical_.end() ? nullptr : found->second);
}

void ShadowCm::watch(CmChannel& channel, rdma_event_channel* physical) {
  channel.physical = physical;
  if (physical != nullptr) add_to_set(channel.fd, physical->fd);
}

CmChannel* ShadowCm::channel_of(rdma_event_channel* physical, bool own) {
  auto* channel = new CmChannel();
  channel->own = own;
  channel->backlog_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  channel->fd = make_set(channel->backlog_fd);
  watch(*channel, physical);
  const std::lock_guard hold(lock_);
  channels_.push_back(channel);
  return channel;
}

void ShadowCm::drop_channel(CmChannel* channel) {
  {
    const std::lock_guard hold(lock_);
    std::erase(channels_, channel);
  }
  ::close(channel->fd);
  ::close(channel->backlog_fd);
  delete channel;
}

rdma_event_channel* ShadowCm::create_channel() {
  rdma_event_channel* physical = real_.rdma_create_event_channel();
  return physical == nullptr ? nullptr : channel_of(physical, true);
}

void ShadowCm::destroy_channel(CmChannel& channel) {
  if (channel.physical != nullptr) real_.rdma_destroy_event_channel(channel.physical);
  drop_channel(&channel);
}

void ShadowCm::to_physical(VirtualId& id) {
  if (id.physical == nullptr) return;
  rdma_cm_id& below = *id.physical;  // programs may set these themselves
  below.qp = id.qp;
  below.pd = id.pd;
  below.srq = id.srq;
  below.send_cq = id.send_cq;
  below.recv_cq = id.recv_cq;
  below.send_cq_channel = id.send_cq_channel;
  below.recv_cq_channel = id.recv_cq_channel;
}

void ShadowCm::show(VirtualId& id) {
  if (id.physical == nullptr) return;
  void* const context = id.context;
  rdma_event_channel* const channel = id.channel;
  static_cast<rdma_cm_id&>(id) = *id.physical;
  id.context = context;
  id.channel = channel;
  // The path's record is librdmacm's memory, and this id outlives that.
  id.paths.assign(id.route.path_rec,
                  id.route.path_rec + (id.route.path_rec == nullptr ? 0 : id.route.num_paths));
  if (id.route.path_rec != nullptr) id.route.path_rec = id.paths.data();
}

void ShadowCm::take_physical(VirtualId& id, rdma_cm_id* physical) {
  id.physical = physical;
  const std::lock_guard hold(lock_);
  by_physical_[physical] = &id;
}

rdma_cm_id* ShadowCm::give_physical(VirtualId& id) {
  rdma_cm_id* physical = id.physical;
  id.physical = nullptr;
  id.event = nullptr;
  const std::lock_guard hold(lock_);
  by_physical_.erase(physical);
  return physical;
}

VirtualId* ShadowCm::adopt(rdma_cm_id* physical, CmChannel* channel, void* context) {
  auto* id = new VirtualId();
  id->synchronous = channel == nullptr;
  id->events = channel != nullptr ? channel : channel_of(physical->channel, false);
  take_physical(*id, physical);
  show(*id);
  id->context = context;
  id->channel = id->events;
  const std::lock_guard hold(lock_);
  ids_.push_back(id);
  return id;
}

int ShadowCm::create_id(rdma_event_channel* shown, rdma_cm_id** out, void* context, rdma_port_space space) {
  CmChannel* channel = shown == nullptr ? nullptr : ours(shown);
  rdma_cm_id* physical = nullptr;
  rdma_event_channel* below = channel == nullptr ? shown : channel->physical;
  if (const int result = real_.rdma_create_id(below, &physical, context, space)) return result;
  *out = adopt(physical, channel, context);
  return 0;
}

int ShadowCm::create_ep(rdma_cm_id** out, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* init) {
  wait_at_gate();
  rdma_cm_id* physical = nullptr;
  if (const int result = real_.rdma_create_ep(&physical, info, pd, init)) return result;
  VirtualId* id = adopt(physical, nullptr, nullptr);
  if ((info->ai_flags & RAI_PASSIVE) != 0) {
    if (info->ai_src_addr != nullptr)
      std::memcpy(&id->bound, info->ai_src_addr, std::min<std::size_t>(info->ai_src_len, sizeof id->bound));
    if (init != nullptr) id->passive = *init;
    id->state = CmState::Bound;
  } else {
    id->state = CmState::Routed;
  }
  *out = id;
  return 0;
}

/// Takes out what waits to be shown of this id.
std::vector<std::unique_ptr<CmEvent>> ShadowCm::events_of(const VirtualId& id) {
  CmChannel& channel = *id.events;
  std::vector<std::unique_ptr<CmEvent>> taken;
  const std::lock_guard hold(channel.lock);
  for (auto one = channel.ready.begin(); one != channel.ready.end();) {
    if ((*one)->counted != &id) {
      ++one;
      continue;
    }
    taken.push_back(std::move(*one));
    one = channel.ready.erase(one);
    eventfd_t value = 0;
    static_cast<void>(eventfd_read(channel.backlog_fd, &value));
  }
  return taken;
}

int ShadowCm::destroy_id(VirtualId& id) {
  for (const auto& event : events_of(id))  // somebody wanted to connect, and its program never knew
    if (event->id != &id) destroy_id(*static_cast<VirtualId*>(event->id));
  rdma_cm_id* physical = nullptr;
  {
    const std::lock_guard one(id.call);
    // Its peer hears of it from the kernel, or from us.
    const CmState state = id.state;
    if (id.physical == nullptr && (state == CmState::Connected || state == CmState::Leaving)) {
      if (const auto farewell = farewell_of(id)) {
        const std::lock_guard hold(lock_);
        farewells_.emplace_back(*farewell, std::chrono::steady_clock::now());
      }
    }
    if (id.physical != nullptr) {
      to_physical(id);
      physical = give_physical(id);
    }
  }
  if (physical != nullptr)
    if (const int result = real_.rdma_destroy_id(physical)) {
      const int error = errno;
      take_physical(id, physical);
      errno = error;
      return result;
    }
  {
    std::unique_lock hold(lock_);
    changed_.wait(hold, [&] { return id.pins == 0; });
    std::erase(ids_, &id);
  }
  if (!id.events->own) drop_channel(id.events);
  say_farewells();
  delete &id;
  return 0;
}

void ShadowCm::destroy_qp(VirtualId& id) {
  const std::lock_guard one(id.call);
  if (id.physical != nullptr) {
    to_physical(id);
    real_.rdma_destroy_qp(id.physical);
    show(id);
    return;
  }
  // As librdmacm does it for an id of its own: what it has made for the QP goes as well.
  if (id.qp != nullptr) verbs_.destroy_qp(id.qp);
  id.qp = nullptr;
  if (id.recv_cq != nullptr) verbs_.destroy_cq(id.recv_cq);
  if (id.send_cq != nullptr && id.send_cq != id.recv_cq) verbs_.destroy_cq(id.send_cq);
  if (id.recv_cq_channel != nullptr) verbs_.destroy_channel(id.recv_cq_channel);
  if (id.send_cq_channel != nullptr && id.send_cq_channel != id.recv_cq_channel)
    verbs_.destroy_channel(id.send_cq_channel);
  id.recv_cq = id.send_cq = nullptr;
  id.recv_cq_channel = id.send_cq_channel = nullptr;
}

void ShadowCm::destroy_srq(VirtualId& id) {
  const std::lock_guard one(id.call);
  if (id.physical != nullptr) {
    to_physical(id);
    real_.rdma_destroy_srq(id.physical);
    show(id);
    return;
  }
  if (id.srq != nullptr) verbs_.destroy_srq(id.srq);
  id.srq = nullptr;
}

void ShadowCm::destroy_ep(VirtualId& id) {
  if (id.qp != nullptr) destroy_qp(id);
  if (id.srq != nullptr) destroy_srq(id);
  rdma_cm_id* physical = nullptr;
  {
    // What only rdma_destroy_ep() gives back is behind librdmacm's own id.
    const std::lock_guard one(id.call);
    if (id.physical != nullptr && id.passive) {
      to_physical(id);
      physical = give_physical(id);
    }
  }
  if (physical != nullptr) real_.rdma_destroy_ep(physical);
  destroy_id(id);
}

int ShadowCm::migrate_id(VirtualId& id, rdma_event_channel* shown) {
  const std::lock_guard one(id.call);
  CmChannel* channel = shown == nullptr ? nullptr : ours(shown);
  if (shown != nullptr && channel == nullptr) {
    errno = EINVAL;
    return -1;
  }
  if (id.physical != nullptr && !id.buried) {
    to_physical(id);
    const int result = real_.rdma_migrate_id(id.physical, channel == nullptr ? nullptr : channel->physical);
    if (result != 0) return result;
  }
  CmChannel* before = id.events;
  id.synchronous = channel == nullptr;
  if (channel == nullptr) {
    const bool has_one = id.physical != nullptr && !id.buried;
    channel = channel_of(has_one ? id.physical->channel : nullptr, false);
  }
  auto waiting = events_of(id);
  for (auto& event : waiting) push(*channel, std::move(event));
  id.events = channel;
  id.channel = channel;
  if (!before->own) drop_channel(before);
  return 0;
}

int ShadowCm::set_option(VirtualId& id, int level, int name, void* value, std::size_t size) {
  const int result =
      forward(id, [&](rdma_cm_id* below) { return real_.rdma_set_option(below, level, name, value, size); });
  if (result != 0) return result;
  const auto* bytes = static_cast<const std::byte*>(value);
  const std::lock_guard one(id.call);
  id.options.push_back({level, name, {bytes, bytes + size}});
  return 0;
}

}  // namespace rdmove::shadow
