// Contexts, protection domains, memory regions, channels, CQs, address handles.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shadowdev/device/plumbing.hpp"
#include "shadowdev/device/shadow_verbs.hpp"

namespace rdmove::shadow {
namespace {

constexpr int kMostAttempts = 64;

template <class T>
T* refused(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

ShadowVerbs::ShadowVerbs(Verbs& physical, PeerLink* link, const ShadowOptions& options)
    : engine_(physical, link, options) {}

ShadowVerbs::~ShadowVerbs() = default;

bool ShadowVerbs::wait_live(VirtualContext& context, std::unique_lock<std::mutex>& hold) {
  const auto live = [&] { return context.presence != Presence::Parked && !context.moving; };
  return engine_.came_back.wait_for(hold, engine_.options.control_wait, live);
}

ibv_context* ShadowVerbs::open(std::string_view device) {
  const std::lock_guard hold(engine_.control);
  ibv_context* physical = engine_.physical.open(device);
  if (physical == nullptr) return nullptr;
  auto context = std::make_unique<VirtualContext>();
  int error = engine_.physical.gid(physical, 1, 0, &context->gid);
  if (error == 0) error = engine_.physical.device_attributes(physical, &context->device_attributes);
  if (error == 0) error = engine_.physical.port_attributes(physical, 1, &context->port_attributes);
  if (error != 0) {
    engine_.physical.close(physical);
    return refused<ibv_context>(error);
  }
  context->engine = &engine_;
  context->physical = physical;
  context->name = device;
  context->shown = *physical->device;
  Engine::fill_tables(*context);
  context->context.cmd_fd = -1;
  context->context.num_comp_vectors = physical->num_comp_vectors;
  context->async_backlog_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  context->context.async_fd = make_set(context->async_backlog_fd);
  add_to_set(context->context.async_fd, physical->async_fd);
  engine_.contexts.push_back(context.get());
  return &context.release()->context;
}

int ShadowVerbs::close(ibv_context* shown) {
  const std::lock_guard hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (!context.pds.empty() || !context.cqs.empty() || !context.channels.empty()) return EBUSY;
  if (context.physical != nullptr)
    if (const int error = engine_.physical.close(context.physical)) return error;
  std::erase(engine_.contexts, &context);
  ::close(shown->async_fd);
  ::close(context.async_backlog_fd);
  delete &context;
  return 0;
}

int ShadowVerbs::device_attributes(ibv_context* shown, ibv_device_attr* out) {
  const std::lock_guard hold(engine_.control);
  *out = VirtualContext::of(shown).device_attributes;
  return 0;
}

int ShadowVerbs::port_attributes(ibv_context* shown, std::uint8_t port, ibv_port_attr* out) {
  const std::lock_guard hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (context.physical != nullptr) return engine_.physical.port_attributes(context.physical, port, out);
  if (port != 1) return EINVAL;
  *out = context.port_attributes;
  return 0;
}

int ShadowVerbs::gid(ibv_context* shown, std::uint8_t port, int index, ibv_gid* out) {
  const std::lock_guard hold(engine_.control);
  if (port != 1 || index != 0) return EINVAL;
  *out = VirtualContext::of(shown).gid;
  return 0;
}

ibv_pd* ShadowVerbs::alloc_pd(ibv_context* shown) {
  std::unique_lock hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (!wait_live(context, hold)) return refused<ibv_pd>(EBUSY);
  if (context.physical == nullptr) return refused<ibv_pd>(EIO);
  ibv_pd* physical = engine_.physical.alloc_pd(context.physical);
  if (physical == nullptr) return nullptr;
  auto* pd = new VirtualPd();
  pd->context = shown;
  pd->physical = physical;
  context.pds.push_back(pd);
  return pd;
}

int ShadowVerbs::dealloc_pd(ibv_pd* shown) {
  const std::lock_guard hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  const auto uses = [&](const auto* one) { return one->pd == pd; };
  if (std::any_of(context.mrs.begin(), context.mrs.end(), uses) ||
      std::any_of(context.qps.begin(), context.qps.end(), uses) ||
      std::any_of(context.srqs.begin(), context.srqs.end(), uses) ||
      std::any_of(context.ahs.begin(), context.ahs.end(), uses))
    return EBUSY;
  if (pd->physical != nullptr)
    if (const int error = engine_.physical.dealloc_pd(pd->physical)) return error;
  std::erase(context.pds, pd);
  delete pd;
  return 0;
}

ibv_mr* ShadowVerbs::reg_mr(ibv_pd* shown, void* address, std::size_t length, std::uint64_t iova,
                            unsigned access) {
  std::unique_lock hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  if ((access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND)) != 0) return refused<ibv_mr>(EOPNOTSUPP);
  if (!wait_live(context, hold)) return refused<ibv_mr>(EBUSY);
  if (pd->physical == nullptr) return refused<ibv_mr>(EIO);
  // Made again until its keys are none that a program knows as another region's, or knew.
  const auto collides = [&](std::uint32_t key) {
    return context.local_keys.contains(key) || context.retired_keys.contains(key);
  };
  std::vector<ibv_mr*> spare;
  ibv_mr* made = nullptr;
  for (int i = 0; i < kMostAttempts; ++i) {
    ibv_mr* one = engine_.physical.reg_mr(pd->physical, address, length, iova, access);
    if (one == nullptr) break;
    if (context.moves == 0 || !(collides(one->lkey) || collides(one->rkey))) {
      made = one;
      break;
    }
    spare.push_back(one);
  }
  const int error = made != nullptr ? 0 : (spare.empty() ? errno : ENOMEM);
  for (ibv_mr* one : spare) engine_.physical.dereg_mr(one);
  if (made == nullptr) return refused<ibv_mr>(error);
  auto* mr = new VirtualMr();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->lkey = made->lkey;
  mr->rkey = made->rkey;
  mr->physical = made;
  mr->iova = iova;
  mr->access = access;
  context.mrs.push_back(mr);
  const std::unique_lock tables(context.tables);
  context.local_keys[mr->lkey] = made->lkey;
  context.physical_keys.insert({made->lkey, made->rkey});
  return mr;
}

int ShadowVerbs::dereg_mr(ibv_mr* shown) {
  const std::lock_guard hold(engine_.control);
  auto* mr = static_cast<VirtualMr*>(shown);
  auto& context = VirtualContext::of(mr->context);
  if (mr->physical != nullptr) {
    const std::uint32_t keys[] = {mr->physical->lkey, mr->physical->rkey};
    if (const int error = engine_.physical.dereg_mr(mr->physical)) return error;
    const std::unique_lock tables(context.tables);
    for (const std::uint32_t key : keys) {
      context.physical_keys.erase(key);
      if (context.moves != 0) context.retired_keys.insert(key);  // peers may have been told
    }
  }
  {
    const std::unique_lock tables(context.tables);
    context.local_keys.erase(mr->lkey);
    if (context.moves != 0) context.retired_keys.insert({mr->lkey, mr->rkey});
  }
  std::erase(context.mrs, mr);
  delete mr;
  return 0;
}

ibv_comp_channel* ShadowVerbs::create_channel(ibv_context* shown) {
  std::unique_lock hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (!wait_live(context, hold)) return refused<ibv_comp_channel>(EBUSY);
  if (context.physical == nullptr) return refused<ibv_comp_channel>(EIO);
  ibv_comp_channel* physical = engine_.physical.create_channel(context.physical);
  if (physical == nullptr) return nullptr;
  auto* channel = new VirtualChannel();
  channel->context = shown;
  channel->physical = physical;
  channel->backlog_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  channel->fd = make_set(channel->backlog_fd);
  add_to_set(channel->fd, physical->fd);
  context.channels.push_back(channel);
  return channel;
}

int ShadowVerbs::destroy_channel(ibv_comp_channel* shown) {
  const std::lock_guard hold(engine_.control);
  auto* channel = static_cast<VirtualChannel*>(shown);
  if (channel->refcnt != 0) return EBUSY;
  if (channel->physical != nullptr)
    if (const int error = engine_.physical.destroy_channel(channel->physical)) return error;
  std::erase(VirtualContext::of(channel->context).channels, channel);
  ::close(channel->fd);
  ::close(channel->backlog_fd);
  delete channel;
  return 0;
}

ibv_cq* ShadowVerbs::create_cq(ibv_context* shown, int entries, void* cq_context, ibv_comp_channel* channel,
                               int vector) {
  std::unique_lock hold(engine_.control);
  auto& context = VirtualContext::of(shown);
  if (!wait_live(context, hold)) return refused<ibv_cq>(EBUSY);
  if (context.physical == nullptr) return refused<ibv_cq>(EIO);
  auto cq = std::make_unique<VirtualCq>();
  cq->context = shown;
  cq->channel = channel;
  cq->cq_context = cq_context;
  cq->cqe = entries;
  cq->vector = vector;
  if (const int error = make_cq(engine_, *cq)) return refused<ibv_cq>(error);
  cq->gate.context = &context.slow;
  cq->gate.owner = cq.get();
  const bool looks = engine_.options.records || context.moves != 0;
  cq->target.store(looks ? static_cast<ibv_cq*>(&cq->gate) : cq->physical, std::memory_order_release);
  if (channel != nullptr) ++channel->refcnt;
  context.cqs.push_back(cq.get());
  return cq.release();
}

int ShadowVerbs::destroy_cq(ibv_cq* shown) {
  std::unique_lock hold(engine_.control);
  auto* cq = static_cast<VirtualCq*>(shown);
  if (cq->users != 0) return EBUSY;
  if (cq->channel != nullptr) {
    auto& channel = *static_cast<VirtualChannel*>(cq->channel);
    engine_.collect(channel);
    std::unique_lock events(channel.lock);
    cq->unacknowledged -= static_cast<unsigned>(std::erase(channel.events, cq));
    hold.unlock();  // whoever acknowledges does not need it
    channel.acknowledged.wait(events, [&] { return cq->unacknowledged == 0; });
    events.unlock();
    hold.lock();
  }
  if (cq->physical != nullptr)
    if (const int error = engine_.physical.destroy_cq(cq->physical)) return error;
  if (cq->channel != nullptr) --cq->channel->refcnt;
  std::erase(VirtualContext::of(cq->context).cqs, cq);
  delete cq;
  return 0;
}

int ShadowVerbs::get_cq_event(ibv_comp_channel* shown, ibv_cq** cq, void** cq_context) {
  auto& channel = *static_cast<VirtualChannel*>(shown);
  for (;;) {
    {
      const std::lock_guard hold(engine_.control);
      engine_.collect(channel);
    }
    {
      const std::lock_guard hold(channel.lock);
      eventfd_t value = 0;
      if (!channel.events.empty()) {
        static_cast<void>(eventfd_read(channel.backlog_fd, &value));
        *cq = channel.events.front();
        *cq_context = (*cq)->cq_context;
        channel.events.pop_front();
        return 0;
      }
      while (eventfd_read(channel.backlog_fd, &value) == 0) {  // of CQs that were destroyed
      }
    }
    if (!wait_for(channel.fd)) return -1;
  }
}

void ShadowVerbs::ack_cq_events(ibv_cq* shown, unsigned events) {
  auto* cq = static_cast<VirtualCq*>(shown);
  auto& channel = *static_cast<VirtualChannel*>(cq->channel);
  const std::lock_guard hold(channel.lock);
  cq->unacknowledged -= events;
  channel.acknowledged.notify_all();
}

ibv_ah* ShadowVerbs::create_ah(ibv_pd* shown, ibv_ah_attr* attributes) {
  std::unique_lock hold(engine_.control);
  auto* pd = static_cast<VirtualPd*>(shown);
  auto& context = VirtualContext::of(pd->context);
  if (!wait_live(context, hold)) return refused<ibv_ah>(EBUSY);
  if (pd->physical == nullptr) return refused<ibv_ah>(EIO);
  ibv_ah* physical = engine_.physical.create_ah(pd->physical, attributes);
  if (physical == nullptr) return nullptr;
  auto* ah = new VirtualAh();
  ah->context = pd->context;
  ah->pd = pd;
  ah->physical = physical;
  ah->attributes = *attributes;
  context.ahs.push_back(ah);
  hold.unlock();
  // Has that side moved already? Then its QPs have other numbers than programs say.
  learn_numbers(engine_, context, attributes->grh.dgid);
  return ah;
}

int ShadowVerbs::destroy_ah(ibv_ah* shown) {
  const std::lock_guard hold(engine_.control);
  auto* ah = static_cast<VirtualAh*>(shown);
  if (ah->physical != nullptr)
    if (const int error = engine_.physical.destroy_ah(ah->physical)) return error;
  std::erase(VirtualContext::of(ah->context).ahs, ah);
  delete ah;
  return 0;
}

int ShadowVerbs::get_async_event(ibv_context* shown, ibv_async_event* out) {
  auto& context = VirtualContext::of(shown);
  for (;;) {
    {
      const std::lock_guard hold(engine_.control);
      engine_.collect_async(context);
    }
    {
      const std::lock_guard hold(context.async_lock);
      eventfd_t value = 0;
      while (eventfd_read(context.async_backlog_fd, &value) == 0 && !context.async_events.empty()) {
        *out = context.async_events.front();
        context.async_events.pop_front();
        return 0;
      }
    }
    if (!wait_for(shown->async_fd)) return -1;
  }
}

void ShadowVerbs::ack_async_event(ibv_async_event* /*event*/) {}

}  // namespace rdmove::shadow
