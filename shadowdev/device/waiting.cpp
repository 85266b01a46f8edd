// What programs wait on: completion channels, CQs and asynchronous events.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "shadowdev/device/plumbing.hpp"
#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {
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
  if (cq->channel == nullptr) return;  // programs acknowledge none of a CQ that has no events
  auto& channel = *static_cast<VirtualChannel*>(cq->channel);
  const std::lock_guard hold(channel.lock);
  cq->unacknowledged -= events;
  channel.acknowledged.notify_all();
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
