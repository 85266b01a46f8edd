// From an address to a connection, and its end.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shadowdev/cm/shadow_cm.hpp"

namespace rdmove::shadow {
namespace {

constexpr std::chrono::seconds kGateWaits{60};
constexpr std::chrono::seconds kEndWaits{60};  // as long as the kernel tries to say that it disconnects
constexpr int kResolveWithin = 2000;           // milliseconds

std::size_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

bool has_family(const sockaddr_storage& address) {
  return address.ss_family != AF_UNSPEC;
}

}  // namespace

void ShadowCm::wait_at_gate() {
  std::unique_lock hold(lock_);
  changed_.wait_for(hold, kGateWaits, [&] { return !gate_closed_; });
}

int ShadowCm::bind_addr(VirtualId& id, sockaddr* address) {
  wait_at_gate();
  const int result = forward(id, [&](rdma_cm_id* below) { return real_.rdma_bind_addr(below, address); });
  if (result != 0) return result;
  const std::lock_guard one(id.call);
  // With the port that the kernel has chosen.
  std::memcpy(&id.bound, &id.route.addr.src_storage, sizeof id.bound);
  if (!has_family(id.bound)) std::memcpy(&id.bound, address, size_of(*address));
  id.state = CmState::Bound;
  return 0;
}

int ShadowCm::resolve_addr(VirtualId& id, sockaddr* from, sockaddr* to, int milliseconds) {
  wait_at_gate();
  const int result =
      forward(id, [&](rdma_cm_id* below) { return real_.rdma_resolve_addr(below, from, to, milliseconds); });
  if (result == 0 && id.synchronous) id.state = CmState::Resolved;
  return result;
}

int ShadowCm::resolve_route(VirtualId& id, int milliseconds) {
  wait_at_gate();
  const int result =
      forward(id, [&](rdma_cm_id* below) { return real_.rdma_resolve_route(below, milliseconds); });
  if (result == 0 && id.synchronous) id.state = CmState::Routed;
  return result;
}

int ShadowCm::listen(VirtualId& id, int backlog) {
  wait_at_gate();
  const int result = forward(id, [&](rdma_cm_id* below) { return real_.rdma_listen(below, backlog); });
  if (result != 0) return result;
  const std::lock_guard one(id.call);
  std::memcpy(&id.bound, &id.route.addr.src_storage, sizeof id.bound);
  id.backlog = backlog;
  id.state = CmState::Listening;
  return 0;
}

int ShadowCm::get_request(VirtualId& listener, rdma_cm_id** out) {
  if (!listener.synchronous) {
    errno = EINVAL;
    return -1;
  }
  for (;;) {
    // Not inside librdmacm: a listener that is waited on has to be able to leave with its device.
    pollfd one{listener.events->fd, POLLIN, 0};
    if (::poll(&one, 1, -1) < 0) return -1;
    const std::lock_guard call(listener.call);
    const std::lock_guard reading(listener.events->reading);
    pollfd below{listener.physical == nullptr ? -1 : listener.physical->channel->fd, POLLIN, 0};
    if (::poll(&below, 1, 0) != 1) continue;
    to_physical(listener);
    rdma_cm_id* physical = nullptr;
    const int result = real_.rdma_get_request(listener.physical, &physical);
    const int error = errno;
    show(listener);
    errno = error;
    if (result != 0) return result;
    VirtualId* id = adopt(physical, nullptr, listener.context);
    id->state = CmState::Requested;
    *out = id;
    return 0;
  }
}

int ShadowCm::connect(VirtualId& id, rdma_conn_param* parameters) {
  wait_at_gate();
  const CmState before = id.state;
  id.number = id.qp == nullptr && parameters != nullptr ? parameters->qp_num : 0;
  const int result = forward(id, [&](rdma_cm_id* below) {
    id.state = CmState::Connecting;
    return real_.rdma_connect(below, parameters);
  });
  if (result != 0)
    id.state = before;
  else if (id.synchronous)
    id.state = CmState::Connected;
  return result;
}

int ShadowCm::accept(VirtualId& id, rdma_conn_param* parameters) {
  id.number = id.qp == nullptr && parameters != nullptr ? parameters->qp_num : 0;
  const int result = forward(id, [&](rdma_cm_id* below) {
    id.state = CmState::Connecting;
    return real_.rdma_accept(below, parameters);
  });
  if (result != 0)
    id.state = CmState::Requested;
  else if (id.synchronous || id.qp_type == IBV_QPT_UD)  // nothing else says so
    id.state = CmState::Connected;
  return result;
}

int ShadowCm::establish(VirtualId& id) {
  const int result = forward(id, [&](rdma_cm_id* below) { return real_.rdma_establish(below); });
  if (result == 0) id.state = CmState::Connected;
  return result;
}

int ShadowCm::reject(VirtualId& id, const void* data, std::uint8_t size, decltype(&::rdma_reject) call) {
  const int result = forward(id, [&](rdma_cm_id* below) { return call(below, data, size); });
  id.state = CmState::Over;
  return result;
}

int ShadowCm::disconnect(VirtualId& id) {
  {
    const std::lock_guard one(id.call);
    const CmState state = id.state;
    if (id.physical != nullptr && !id.buried) {
      if (state == CmState::Connected) id.state = CmState::Leaving;
      to_physical(id);
      const int result = real_.rdma_disconnect(id.physical);
      const int error = errno;
      show(id);
      if (result == 0 && id.synchronous) id.state = CmState::Over;
      errno = error;
      return result;
    }
    if (state != CmState::Connected && state != CmState::Over) {
      errno = EINVAL;
      return -1;
    }
    {
      const std::lock_guard hold(engine_.control);
      const VirtualQp* qp = qp_of(id);
      id.behind_data = qp != nullptr && Engine::waits(*qp);
    }
    if (state == CmState::Over) {  // its peer was first
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_ERR;
      if (id.qp != nullptr) verbs_.modify_qp(id.qp, &attr, IBV_QP_STATE);
      return 0;
    }
    id.leaving_since = std::chrono::steady_clock::now();
    id.unsaid = true;
    id.state = CmState::Leaving;
  }
  say_goodbye(id);  // or the control thread does, once it can be said
  if (!id.synchronous) return 0;
  std::unique_lock hold(lock_);
  if (changed_.wait_for(hold, kEndWaits, [&] { return id.state == CmState::Over; })) return 0;
  errno = ETIMEDOUT;
  return -1;
}

rdma_cm_id* ShadowCm::make_like(VirtualId& id) {
  rdma_cm_id* fresh = nullptr;
  if (id.passive) {
    rdma_addrinfo info{};
    info.ai_flags = RAI_PASSIVE;
    info.ai_family = id.bound.ss_family;
    info.ai_qp_type = id.qp_type;
    info.ai_port_space = id.ps;
    info.ai_src_addr = reinterpret_cast<sockaddr*>(&id.bound);
    info.ai_src_len = static_cast<socklen_t>(size_of(*info.ai_src_addr));
    ibv_qp_init_attr init = *id.passive;
    if (real_.rdma_create_ep(&fresh, &info, id.pd, &init) != 0) return nullptr;
  } else if (real_.rdma_create_id(nullptr, &fresh, nullptr, id.ps) != 0) {
    return nullptr;
  }
  for (CmOption& one : id.options)
    real_.rdma_set_option(fresh, one.level, one.name, one.value.data(), one.value.size());
  return fresh;
}

int ShadowCm::revive(VirtualId& id) {
  const CmState state = id.state;
  const bool resolved = state == CmState::Resolved || state == CmState::Routed;
  if (!resolved && state != CmState::Bound) return ENXIO;  // as of an id whose device went
  rdma_cm_id* fresh = make_like(id);
  if (fresh == nullptr) return errno;
  // Synchronous as long as it is being made, so none of it is shown.
  sockaddr* from = reinterpret_cast<sockaddr*>(&id.route.addr.src_storage);
  int result = 0;
  if (resolved)
    result = real_.rdma_resolve_addr(fresh, has_family(id.route.addr.src_storage) ? from : nullptr,
                                     &id.route.addr.dst_addr, kResolveWithin);
  else if (!id.passive)
    result = real_.rdma_bind_addr(fresh, reinterpret_cast<sockaddr*>(&id.bound));
  if (result == 0 && state == CmState::Routed) result = real_.rdma_resolve_route(fresh, kResolveWithin);
  if (result == 0 && !id.synchronous) result = real_.rdma_migrate_id(fresh, id.events->physical);
  if (result != 0) {
    const int error = errno;
    real_.rdma_destroy_id(fresh);
    return error;
  }
  if (id.synchronous) watch(*id.events, fresh->channel);
  take_physical(id, fresh);
  return 0;
}

int ShadowCm::listen_again(VirtualId& id) {
  rdma_cm_id* fresh = make_like(id);
  if (fresh == nullptr) return errno;
  int result = 0;
  if (!id.passive) result = real_.rdma_bind_addr(fresh, reinterpret_cast<sockaddr*>(&id.bound));
  if (result == 0 && !id.synchronous) result = real_.rdma_migrate_id(fresh, id.events->physical);
  // Known before it listens: its first request may be read at once.
  take_physical(id, fresh);
  if (result == 0) result = real_.rdma_listen(fresh, id.backlog);
  if (result != 0) {
    const int error = errno;
    real_.rdma_destroy_id(give_physical(id));
    return error;
  }
  if (id.synchronous) watch(*id.events, fresh->channel);
  to_physical(id);
  show(id);
  return 0;
}

}  // namespace rdmove::shadow
