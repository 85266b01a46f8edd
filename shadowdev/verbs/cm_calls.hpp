// librdmacm's functions by pointer, as calls.hpp has those of libibverbs: of the library that a program's
// connections are made with, or of a stand-in for tests. Under the names and versions of rdma-core 44.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

namespace rdmove::shadow {

// clang-format off
#define RDMOVE_CM_CALLS(X)                                                                      \
  X(rdma_create_event_channel, "RDMACM_1.0") X(rdma_destroy_event_channel, "RDMACM_1.0")        \
  X(rdma_create_id, "RDMACM_1.0")            X(rdma_create_ep, "RDMACM_1.0")                    \
  X(rdma_destroy_id, "RDMACM_1.0")           X(rdma_destroy_ep, "RDMACM_1.0")                   \
  X(rdma_bind_addr, "RDMACM_1.0")            X(rdma_resolve_addr, "RDMACM_1.0")                 \
  X(rdma_resolve_route, "RDMACM_1.0")        X(rdma_create_qp, "RDMACM_1.0")                    \
  X(rdma_create_qp_ex, "RDMACM_1.0")         X(rdma_destroy_qp, "RDMACM_1.0")                   \
  X(rdma_connect, "RDMACM_1.0")              X(rdma_establish, "RDMACM_1.2")                    \
  X(rdma_listen, "RDMACM_1.0")               X(rdma_get_request, "RDMACM_1.0")                  \
  X(rdma_accept, "RDMACM_1.0")               X(rdma_reject, "RDMACM_1.0")                       \
  X(rdma_reject_ece, "RDMACM_1.3")           X(rdma_notify, "RDMACM_1.0")                       \
  X(rdma_disconnect, "RDMACM_1.0")           X(rdma_join_multicast, "RDMACM_1.0")               \
  X(rdma_join_multicast_ex, "RDMACM_1.1")    X(rdma_leave_multicast, "RDMACM_1.0")              \
  X(rdma_get_cm_event, "RDMACM_1.0")         X(rdma_ack_cm_event, "RDMACM_1.0")                 \
  X(rdma_set_option, "RDMACM_1.0")           X(rdma_migrate_id, "RDMACM_1.0")                   \
  X(rdma_init_qp_attr, "RDMACM_1.2")         X(rdma_create_srq, "RDMACM_1.0")                   \
  X(rdma_create_srq_ex, "RDMACM_1.0")        X(rdma_destroy_srq, "RDMACM_1.0")                  \
  X(rdma_set_local_ece, "RDMACM_1.3")        X(rdma_get_remote_ece, "RDMACM_1.3")
// clang-format on

struct CmCalls {
#define RDMOVE_MEMBER(name, version) decltype(&::name) name = nullptr;
  RDMOVE_CM_CALLS(RDMOVE_MEMBER)
#undef RDMOVE_MEMBER
};

}  // namespace rdmove::shadow
