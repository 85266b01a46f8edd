// libibverbs behind the interface: each call is the one of its name. Any thread.
#pragma once

#include "shadowdev/verbs/calls.hpp"
#include "shadowdev/verbs/verbs.hpp"

namespace rdmove::shadow {

/// The functions of the library that this program is linked with (rdmove_libibverbs).
VerbsCalls linked_calls();

class Libibverbs final : public Verbs {
 public:
  explicit Libibverbs(const VerbsCalls& calls) : calls_(calls) {}

  ibv_context* open(std::string_view device) override;
  int close(ibv_context* context) override;
  int device_attributes(ibv_context* context, ibv_device_attr* out) override;
  int port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* out) override;
  int gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) override;
  int gid_table(ibv_context* context, std::vector<ibv_gid_entry>* out) override;
  ibv_pd* alloc_pd(ibv_context* context) override;
  int dealloc_pd(ibv_pd* pd) override;
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) override;
  int dereg_mr(ibv_mr* mr) override;
  ibv_comp_channel* create_channel(ibv_context* context) override;
  int destroy_channel(ibv_comp_channel* channel) override;
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                    int vector) override;
  int destroy_cq(ibv_cq* cq) override;
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) override;
  void ack_cq_events(ibv_cq* cq, unsigned events) override;
  ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) override;
  int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) override;
  int query_srq(ibv_srq* srq, ibv_srq_attr* out) override;
  int destroy_srq(ibv_srq* srq) override;
  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) override;
  int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override;
  int query_qp(ibv_qp* qp, ibv_qp_attr* out, int mask, ibv_qp_init_attr* init_out) override;
  int destroy_qp(ibv_qp* qp) override;
  ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) override;
  int destroy_ah(ibv_ah* ah) override;
  int get_async_event(ibv_context* context, ibv_async_event* out) override;
  void ack_async_event(ibv_async_event* event) override;

 private:
  VerbsCalls calls_;
};

}  // namespace rdmove::shadow
