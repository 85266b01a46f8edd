// The functions of librdmacm that stand before the real ones. What comes with librdmacm's own objects, since
// it calls its public names itself, is passed on to it.
#include <rdma/rsocket.h>

#include <cstring>

#include "shadowdev/interpose/overrides.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {
namespace {

const CmCalls& real_cm() {
  return ThisProcess::real_cm();
}
ShadowCm& cm() {
  return ThisProcess::get().cm();
}

/// Not ours: librdmacm itself calls, or a child that has nothing of its parent's.
bool passes(void* caller) {
  return ThisProcess::is_child() || is_rdma_cm(caller);
}

VirtualId* ours(const rdma_cm_id* id) {
  return ThisProcess::is_child() ? nullptr : cm().ours(id);
}

rdma_event_channel* create_event_channel() {
  if (passes(__builtin_return_address(0))) return real_cm().rdma_create_event_channel();
  return cm().create_channel();
}

void destroy_event_channel(rdma_event_channel* channel) {
  CmChannel* mine = ThisProcess::is_child() ? nullptr : cm().ours(channel);
  if (mine == nullptr) return real_cm().rdma_destroy_event_channel(channel);
  cm().destroy_channel(*mine);
}

int create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space) {
  if (passes(__builtin_return_address(0))) return real_cm().rdma_create_id(channel, id, context, space);
  return cm().create_id(channel, id, context, space);
}

int create_ep(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* init) {
  if (passes(__builtin_return_address(0))) return real_cm().rdma_create_ep(id, info, pd, init);
  return cm().create_ep(id, info, pd, init);
}

int destroy_id(rdma_cm_id* id) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().destroy_id(*mine) : real_cm().rdma_destroy_id(id);
}

void destroy_ep(rdma_cm_id* id) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_destroy_ep(id);
  cm().destroy_ep(*mine);
}

int bind_addr(rdma_cm_id* id, sockaddr* address) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().bind_addr(*mine, address) : real_cm().rdma_bind_addr(id, address);
}

int resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int milliseconds) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().resolve_addr(*mine, from, to, milliseconds)
                         : real_cm().rdma_resolve_addr(id, from, to, milliseconds);
}

int resolve_route(rdma_cm_id* id, int milliseconds) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().resolve_route(*mine, milliseconds)
                         : real_cm().rdma_resolve_route(id, milliseconds);
}

int create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* init) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_create_qp(id, pd, init);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_create_qp(below, pd, init); });
}

int create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* init) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_create_qp_ex(id, init);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_create_qp_ex(below, init); });
}

void destroy_qp(rdma_cm_id* id) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_destroy_qp(id);
  cm().destroy_qp(*mine);
}

int connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().connect(*mine, parameters) : real_cm().rdma_connect(id, parameters);
}

int establish(rdma_cm_id* id) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().establish(*mine) : real_cm().rdma_establish(id);
}

int listen(rdma_cm_id* id, int backlog) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().listen(*mine, backlog) : real_cm().rdma_listen(id, backlog);
}

int get_request(rdma_cm_id* listener, rdma_cm_id** id) {
  VirtualId* mine = ours(listener);
  return mine != nullptr ? cm().get_request(*mine, id) : real_cm().rdma_get_request(listener, id);
}

int accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().accept(*mine, parameters) : real_cm().rdma_accept(id, parameters);
}

int reject(rdma_cm_id* id, const void* data, std::uint8_t size) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().reject(*mine, data, size, real_cm().rdma_reject)
                         : real_cm().rdma_reject(id, data, size);
}

int reject_ece(rdma_cm_id* id, const void* data, std::uint8_t size) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_reject_ece(id, data, size);
  return cm().reject(*mine, data, size, real_cm().rdma_reject_ece);
}

int notify(rdma_cm_id* id, ibv_event_type event) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_notify(id, event);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_notify(below, event); });
}

int disconnect(rdma_cm_id* id) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().disconnect(*mine) : real_cm().rdma_disconnect(id);
}

int join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_join_multicast(id, address, context);
  return cm().forward(
      *mine, [&](rdma_cm_id* below) { return real_cm().rdma_join_multicast(below, address, context); });
}

int join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attr, void* context) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_join_multicast_ex(id, attr, context);
  return cm().forward(
      *mine, [&](rdma_cm_id* below) { return real_cm().rdma_join_multicast_ex(below, attr, context); });
}

int leave_multicast(rdma_cm_id* id, sockaddr* address) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_leave_multicast(id, address);
  return cm().forward(*mine,
                      [&](rdma_cm_id* below) { return real_cm().rdma_leave_multicast(below, address); });
}

int get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  CmChannel* mine = ThisProcess::is_child() ? nullptr : cm().ours(channel);
  return mine != nullptr ? cm().get_event(*mine, event) : real_cm().rdma_get_cm_event(channel, event);
}

int ack_cm_event(rdma_cm_event* event) {
  if (!ThisProcess::is_child() && cm().acknowledge(event)) return 0;
  return real_cm().rdma_ack_cm_event(event);
}

int set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t size) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().set_option(*mine, level, name, value, size)
                         : real_cm().rdma_set_option(id, level, name, value, size);
}

int migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  VirtualId* mine = ours(id);
  return mine != nullptr ? cm().migrate_id(*mine, channel) : real_cm().rdma_migrate_id(id, channel);
}

int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return ShadowCm::init_qp_attr(real_cm(), id, attr, mask);
  return cm().forward(
      *mine, [&](rdma_cm_id* below) { return ShadowCm::init_qp_attr(real_cm(), below, attr, mask); });
}

int create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_create_srq(id, pd, attr);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_create_srq(below, pd, attr); });
}

int create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attr) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_create_srq_ex(id, attr);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_create_srq_ex(below, attr); });
}

void destroy_srq(rdma_cm_id* id) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_destroy_srq(id);
  cm().destroy_srq(*mine);
}

int set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_set_local_ece(id, ece);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_set_local_ece(below, ece); });
}

int get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  VirtualId* mine = ours(id);
  if (mine == nullptr) return real_cm().rdma_get_remote_ece(id, ece);
  return cm().forward(*mine, [&](rdma_cm_id* below) { return real_cm().rdma_get_remote_ece(below, ece); });
}

decltype(&::rsocket) real_rsocket = nullptr;

/// Its connections are made and ended inside librdmacm, which reads their events by itself.
int open_rsocket(int domain, int type, int protocol) {
  if (!ThisProcess::is_child() && !ThisProcess::pass_rdma_cm_through()) {
    ThisProcess::say("rsockets are not shadowed, and this program has RDMA CM connections that are: refused");
    errno = EOPNOTSUPP;
    return -1;
  }
  return real_rsocket(domain, type, protocol);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

const Override* find_cm_override(const char* name, const char* version, void* function) {
  // Not at namespace scope: this is called before constructors have run.
  static const Override all[] = {
      {"rdma_create_event_channel", "RDMACM_1.0", address(create_event_channel)},
      {"rdma_destroy_event_channel", "RDMACM_1.0", address(destroy_event_channel)},
      {"rdma_create_id", "RDMACM_1.0", address(create_id)},
      {"rdma_create_ep", "RDMACM_1.0", address(create_ep)},
      {"rdma_destroy_id", "RDMACM_1.0", address(destroy_id)},
      {"rdma_destroy_ep", "RDMACM_1.0", address(destroy_ep)},
      {"rdma_bind_addr", "RDMACM_1.0", address(bind_addr)},
      {"rdma_resolve_addr", "RDMACM_1.0", address(resolve_addr)},
      {"rdma_resolve_route", "RDMACM_1.0", address(resolve_route)},
      {"rdma_create_qp", "RDMACM_1.0", address(create_qp)},
      {"rdma_create_qp_ex", "RDMACM_1.0", address(create_qp_ex)},
      {"rdma_destroy_qp", "RDMACM_1.0", address(destroy_qp)},
      {"rdma_connect", "RDMACM_1.0", address(connect)},
      {"rdma_establish", "RDMACM_1.2", address(establish)},
      {"rdma_listen", "RDMACM_1.0", address(listen)},
      {"rdma_get_request", "RDMACM_1.0", address(get_request)},
      {"rdma_accept", "RDMACM_1.0", address(accept)},
      {"rdma_reject", "RDMACM_1.0", address(reject)},
      {"rdma_reject_ece", "RDMACM_1.3", address(reject_ece)},
      {"rdma_notify", "RDMACM_1.0", address(notify)},
      {"rdma_disconnect", "RDMACM_1.0", address(disconnect)},
      {"rdma_join_multicast", "RDMACM_1.0", address(join_multicast)},
      {"rdma_join_multicast_ex", "RDMACM_1.1", address(join_multicast_ex)},
      {"rdma_leave_multicast", "RDMACM_1.0", address(leave_multicast)},
      {"rdma_get_cm_event", "RDMACM_1.0", address(get_cm_event)},
      {"rdma_ack_cm_event", "RDMACM_1.0", address(ack_cm_event)},
      {"rdma_set_option", "RDMACM_1.0", address(set_option)},
      {"rdma_migrate_id", "RDMACM_1.0", address(migrate_id)},
      {"rdma_init_qp_attr", "RDMACM_1.2", address(init_qp_attr)},
      {"rdma_create_srq", "RDMACM_1.0", address(create_srq)},
      {"rdma_create_srq_ex", "RDMACM_1.0", address(create_srq_ex)},
      {"rdma_destroy_srq", "RDMACM_1.0", address(destroy_srq)},
      {"rdma_set_local_ece", "RDMACM_1.3", address(set_local_ece)},
      {"rdma_get_remote_ece", "RDMACM_1.3", address(get_remote_ece)},
      {"rsocket", "RDMACM_1.0", address(open_rsocket)},
  };
  if (std::strcmp(name, "rsocket") == 0) real_rsocket = reinterpret_cast<decltype(real_rsocket)>(function);
  for (const Override& one : all)
    if (std::strcmp(one.name, name) == 0 && std::strcmp(one.version, version) == 0) return &one;
  return nullptr;
}

}  // namespace rdmove::shadow
