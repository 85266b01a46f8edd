// The control calls of libibverbs as an interface, so that the shadow device can stand on the installed
// library or on the provider in memory, and can itself stand where they stand. Shapes and errors are the
// library's own: a pointer or nullptr with errno, 0 or an errno value. The data path is not here: posting,
// polling and arming are inline functions of verbs.h that go through the tables of ibv_context.
// Whoever implements it says which threads may call it.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rdmove::shadow {

class Verbs {
 public:
  virtual ~Verbs() = default;

  virtual ibv_context* open(std::string_view device) = 0;  ///< ENODEV: there is none of this name
  virtual int close(ibv_context* context) = 0;
  virtual int device_attributes(ibv_context* context, ibv_device_attr* out) = 0;
  virtual int port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* out) = 0;
  virtual int gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) = 0;
  virtual int gid_table(ibv_context* context, std::vector<ibv_gid_entry>* out) = 0;  ///< all that are in use

  virtual ibv_pd* alloc_pd(ibv_context* context) = 0;
  virtual int dealloc_pd(ibv_pd* pd) = 0;
  /// ibv_reg_mr_iova2: iova is what remote addresses count from.
  virtual ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) = 0;
  virtual int dereg_mr(ibv_mr* mr) = 0;

  virtual ibv_comp_channel* create_channel(ibv_context* context) = 0;
  virtual int destroy_channel(ibv_comp_channel* channel) = 0;
  virtual ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                            int vector) = 0;
  virtual int destroy_cq(
      ibv_cq* cq) = 0;  ///< waits in the real library, EBUSY in the fake: events unacknowledged
  virtual int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq,
                           void** cq_context) = 0;  ///< 0, or -1 and errno
  virtual void ack_cq_events(ibv_cq* cq, unsigned events) = 0;

  virtual ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) = 0;
  virtual int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) = 0;
  virtual int query_srq(ibv_srq* srq, ibv_srq_attr* out) = 0;
  virtual int destroy_srq(ibv_srq* srq) = 0;

  virtual ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) = 0;
  virtual int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) = 0;
  virtual int query_qp(ibv_qp* qp, ibv_qp_attr* out, int mask, ibv_qp_init_attr* init_out) = 0;
  virtual int destroy_qp(ibv_qp* qp) = 0;

  virtual ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) = 0;
  virtual int destroy_ah(ibv_ah* ah) = 0;

  virtual int get_async_event(ibv_context* context, ibv_async_event* out) = 0;  ///< 0, or -1 and errno
  virtual void ack_async_event(ibv_async_event* event) = 0;
};

}  // namespace rdmove::shadow
