// Events on their way from librdmacm to programs: copied, acknowledged at once, and named by the ids that
// programs know.
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shadowdev/cm/shadow_cm.hpp"
#include "shadowdev/device/plumbing.hpp"

namespace rdmove::shadow {
namespace {

bool readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

/// What this event says of its id.
std::optional<CmState> state_after(rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return CmState::Resolved;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return CmState::Routed;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return CmState::Idle;
    case RDMA_CM_EVENT_ESTABLISHED:
      return CmState::Connected;
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DISCONNECTED:
      return CmState::Over;
    default:
      return std::nullopt;
  }
}

/// Of one device: a program's path has the indices that it was shown.
void show_path(const rdma_cm_id& id, ibv_ah_attr& path) {
  if (id.verbs == nullptr || !is_virtual(*id.verbs) || path.is_global == 0) return;
  VirtualContext& context = VirtualContext::of(id.verbs);
  const std::lock_guard hold(context.engine->control);
  path.grh.sgid_index = context.gids.shown(path.grh.sgid_index);
}

}  // namespace

int ShadowCm::init_qp_attr(const CmCalls& real, rdma_cm_id* physical, ibv_qp_attr* attr, int* mask) {
  const int result = real.rdma_init_qp_attr(physical, attr, mask);
  if (result == 0 && (*mask & IBV_QP_AV) != 0) show_path(*physical, attr->ah_attr);
  return result;
}

std::unique_ptr<CmEvent> ShadowCm::take(rdma_cm_event* physical, CmChannel& channel) {
  auto event = std::make_unique<CmEvent>();
  static_cast<rdma_cm_event&>(*event) = *physical;
  const bool request = physical->event == RDMA_CM_EVENT_CONNECT_REQUEST;
  const Pinned of = id_of(request ? physical->listen_id : physical->id);
  VirtualId* id = of.get();
  if (id == nullptr) return nullptr;
  event->counted = id;
  if (request) {
    event->listen_id = id;
    id = adopt(physical->id, id->synchronous ? nullptr : &channel, id->context);
    id->state = CmState::Requested;
  } else {
    show(*id);
    if (const auto next = state_after(physical->event)) id->state = *next;
  }
  event->id = id;
  // Both kinds of parameters begin with it.
  static_assert(offsetof(rdma_conn_param, private_data) == offsetof(rdma_ud_param, private_data));
  rdma_conn_param& said = event->param.conn;
  if (said.private_data != nullptr && said.private_data_len != 0) {
    std::memcpy(event->data.data(), said.private_data, said.private_data_len);
    said.private_data = event->data.data();
  }
  if (id->qp_type == IBV_QPT_UD && (request || physical->event == RDMA_CM_EVENT_ESTABLISHED ||
                                    physical->event == RDMA_CM_EVENT_MULTICAST_JOIN))
    show_path(*id, event->param.ud.ah_attr);
  if (physical->event != RDMA_CM_EVENT_DEVICE_REMOVAL || id->verbs == nullptr || !is_virtual(*id->verbs))
    return event;
  // A device that leaves by plan comes back, and one that vanished is reported by its QPs.
  VirtualContext& context = VirtualContext::of(id->verbs);
  const std::lock_guard hold(engine_.control);
  return context.moving || context.presence == Presence::Parked ? nullptr : std::move(event);
}

void ShadowCm::push(CmChannel& channel, std::unique_ptr<CmEvent> event) {
  const std::lock_guard hold(channel.lock);
  channel.ready.push_back(std::move(event));
  eventfd_write(channel.backlog_fd, 1);
}

void ShadowCm::raise(VirtualId& id, rdma_cm_event_type type, int status) {
  auto event = std::make_unique<CmEvent>();
  event->id = &id;
  event->counted = &id;
  event->event = type;
  event->status = status;
  if (const auto next = state_after(type)) id.state = *next;
  push(*id.events, std::move(event));
  const std::lock_guard hold(lock_);
  changed_.notify_all();
}

bool ShadowCm::read_one(CmChannel& channel, int& error) {
  const std::lock_guard one(channel.reading);
  error = 0;
  if (channel.physical == nullptr || !readable(channel.physical->fd)) return false;
  rdma_cm_event* physical = nullptr;
  if (real_.rdma_get_cm_event(channel.physical, &physical) != 0) {
    error = errno;
    return false;
  }
  auto event = take(physical, channel);
  real_.rdma_ack_cm_event(physical);  // or its id could not be destroyed
  if (event != nullptr) push(channel, std::move(event));
  return true;
}

int ShadowCm::get_event(CmChannel& channel, rdma_cm_event** out) {
  for (;;) {
    {
      std::unique_ptr<CmEvent> event;
      {
        const std::lock_guard hold(channel.lock);
        if (!channel.ready.empty()) {
          eventfd_t value = 0;
          static_cast<void>(eventfd_read(channel.backlog_fd, &value));
          event = std::move(channel.ready.front());
          channel.ready.pop_front();
        }
      }
      if (event != nullptr) {
        const std::lock_guard hold(lock_);
        ++event->counted->pins;
        *out = event.get();
        shown_[*out] = std::move(event);
        return 0;
      }
    }
    int error = 0;
    if (read_one(channel, error)) continue;
    if (error != 0) {
      errno = error;
      return -1;
    }
    if (!wait_for(channel.fd)) return -1;
  }
}

bool ShadowCm::acknowledge(rdma_cm_event* event) {
  const std::lock_guard hold(lock_);
  const auto found = shown_.find(event);
  if (found == shown_.end()) return false;
  --found->second->counted->pins;
  shown_.erase(found);
  changed_.notify_all();
  return true;
}

}  // namespace rdmove::shadow
