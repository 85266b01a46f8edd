// Channels and asynchronous events: what programs wait on is an epoll descriptor that holds the physical one
// and an eventfd for what is kept here, so that it stays the same when the physical one is another.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {
namespace {

bool readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

void deliver(VirtualChannel& channel, VirtualCq& cq) {
  cq.armed.store(Armed::No, std::memory_order_relaxed);
  const std::lock_guard hold(channel.lock);
  channel.events.push_back(&cq);
  ++cq.unacknowledged;
  eventfd_write(channel.backlog_fd, 1);
}

/// Those that a move causes; programs such as UCX and MPI abort on some of them.
bool belongs_to_move(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_DEVICE_FATAL:
      return true;
    default:
      return false;
  }
}

bool is_of_qp(ibv_event_type type) {
  return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR || type == IBV_EVENT_QP_ACCESS_ERR ||
         type == IBV_EVENT_COMM_EST || type == IBV_EVENT_SQ_DRAINED || type == IBV_EVENT_PATH_MIG ||
         type == IBV_EVENT_PATH_MIG_ERR || type == IBV_EVENT_QP_LAST_WQE_REACHED;
}

}  // namespace

void Engine::signal(VirtualCq& cq) {
  const Armed armed = cq.armed.load(std::memory_order_relaxed);
  if (cq.channel == nullptr || armed == Armed::No) return;
  // Whether a successful one was solicited is not in a completion: one wake-up too many is none that is lost.
  deliver(*static_cast<VirtualChannel*>(cq.channel), cq);
}

void Engine::collect(VirtualChannel& channel) {
  while (channel.physical != nullptr && readable(channel.physical->fd)) {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    if (physical.get_cq_event(channel.physical, &cq, &cq_context) != 0) return;
    physical.ack_cq_events(cq, 1);  // or the physical CQ could not be destroyed
    auto& owner = *static_cast<VirtualCq*>(cq_context);
    // Not armed any more: what it announces was harvested, and has been announced then.
    if (owner.armed.load(std::memory_order_relaxed) != Armed::No) deliver(channel, owner);
  }
}

void Engine::raise(VirtualContext& context, ibv_async_event event) {
  const std::lock_guard hold(context.async_lock);
  context.async_events.push_back(event);
  eventfd_write(context.async_backlog_fd, 1);
}

void Engine::collect_async(VirtualContext& context) {
  while (context.physical != nullptr && readable(context.physical->async_fd)) {
    ibv_async_event event{};
    if (physical.get_async_event(context.physical, &event) != 0) return;
    ibv_async_event shown = event;
    bool hide = context.moving && belongs_to_move(event);
    if (is_of_qp(event.event_type)) {
      auto& qp = *static_cast<VirtualQp*>(event.element.qp->qp_context);
      shown.element.qp = &qp;
      const std::lock_guard hold(qp.lock);
      if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && qp.phase.load() == Phase::Frozen) {
        qp.flush_done = true;
        hide = !qp.broken && !qp.alone;
      }
    } else if (event.event_type == IBV_EVENT_CQ_ERR) {
      shown.element.cq = static_cast<VirtualCq*>(event.element.cq->cq_context);
    } else if (event.event_type == IBV_EVENT_SRQ_ERR || event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
      shown.element.srq = static_cast<VirtualSrq*>(event.element.srq->srq_context);
    }
    physical.ack_async_event(&event);
    if (!hide) raise(context, shown);
  }
}

}  // namespace rdmove::shadow
