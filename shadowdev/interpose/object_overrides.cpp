#include <cstring>

#include "shadowdev/interpose/overrides.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {
namespace {

/// librdmacm gives its domain back with the last of its ids; programs have theirs still, with that domain in
/// it.
ibv_pd* alloc_pd(ibv_context* context) {
  if (!is_shadowed(context)) return real().ibv_alloc_pd(context);
  if (!is_rdma_cm(__builtin_return_address(0))) return shadow().alloc_pd(context);
  ibv_pd*& kept = VirtualContext::of(context).pd_of_rdma_cm;  // only ever called with librdmacm's lock
  if (kept == nullptr) kept = shadow().alloc_pd(context);
  return kept;
}

int dealloc_pd(ibv_pd* pd) {
  if (is_shadowed(pd->context) && pd == VirtualContext::of(pd->context).pd_of_rdma_cm) return 0;
  return is_shadowed(pd->context) ? shadow().dealloc_pd(pd) : real().ibv_dealloc_pd(pd);
}

ibv_mr* reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  if (!is_shadowed(pd->context)) return real().ibv_reg_mr_iova2(pd, address, length, iova, access);
  return shadow().reg_mr(pd, address, length, iova, access);
}

ibv_mr* reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, int access) {
  if (!is_shadowed(pd->context)) return (real().ibv_reg_mr_iova)(pd, address, length, iova, access);
  return shadow().reg_mr(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  if (!is_shadowed(pd->context)) return (real().ibv_reg_mr)(pd, address, length, access);
  return shadow().reg_mr(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                         static_cast<unsigned>(access));
}

ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                      int access) {
  if (!is_shadowed(pd->context)) return real().ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
  return refused<ibv_mr>(EOPNOTSUPP);
}

int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
  if (!is_shadowed(mr->context)) return real().ibv_rereg_mr(mr, flags, pd, address, length, access);
  errno = EOPNOTSUPP;
  return IBV_REREG_MR_ERR_INPUT;
}

int dereg_mr(ibv_mr* mr) {
  return is_shadowed(mr->context) ? shadow().dereg_mr(mr) : real().ibv_dereg_mr(mr);
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  return is_shadowed(context) ? shadow().create_channel(context) : real().ibv_create_comp_channel(context);
}

int destroy_comp_channel(ibv_comp_channel* channel) {
  return is_shadowed(channel->context) ? shadow().destroy_channel(channel)
                                       : real().ibv_destroy_comp_channel(channel);
}

ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                  int vector) {
  return is_shadowed(context) ? shadow().create_cq(context, entries, cq_context, channel, vector)
                              : real().ibv_create_cq(context, entries, cq_context, channel, vector);
}

int resize_cq(ibv_cq* cq, int entries) {
  return is_shadowed(cq->context) ? EOPNOTSUPP : real().ibv_resize_cq(cq, entries);
}

int destroy_cq(ibv_cq* cq) {
  return is_shadowed(cq->context) ? shadow().destroy_cq(cq) : real().ibv_destroy_cq(cq);
}

int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  return is_shadowed(channel->context) ? shadow().get_cq_event(channel, cq, cq_context)
                                       : real().ibv_get_cq_event(channel, cq, cq_context);
}

void ack_cq_events(ibv_cq* cq, unsigned events) {
  if (is_shadowed(cq->context))
    shadow().ack_cq_events(cq, events);
  else
    real().ibv_ack_cq_events(cq, events);
}

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  return is_shadowed(pd->context) ? shadow().create_srq(pd, init) : real().ibv_create_srq(pd, init);
}

int modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  return is_shadowed(srq->context) ? shadow().modify_srq(srq, attr, mask)
                                   : real().ibv_modify_srq(srq, attr, mask);
}

int query_srq(ibv_srq* srq, ibv_srq_attr* out) {
  return is_shadowed(srq->context) ? shadow().query_srq(srq, out) : real().ibv_query_srq(srq, out);
}

int destroy_srq(ibv_srq* srq) {
  return is_shadowed(srq->context) ? shadow().destroy_srq(srq) : real().ibv_destroy_srq(srq);
}

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  return is_shadowed(pd->context) ? shadow().create_qp(pd, init) : real().ibv_create_qp(pd, init);
}

int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  return is_shadowed(qp->context) ? shadow().modify_qp(qp, attr, mask) : real().ibv_modify_qp(qp, attr, mask);
}

int query_qp(ibv_qp* qp, ibv_qp_attr* out, int mask, ibv_qp_init_attr* init) {
  return is_shadowed(qp->context) ? shadow().query_qp(qp, out, mask, init)
                                  : real().ibv_query_qp(qp, out, mask, init);
}

int destroy_qp(ibv_qp* qp) {
  return is_shadowed(qp->context) ? shadow().destroy_qp(qp) : real().ibv_destroy_qp(qp);
}

ibv_qp_ex* qp_to_qp_ex(ibv_qp* qp) {
  return is_shadowed(qp->context) ? send_ops_of(qp) : real().ibv_qp_to_qp_ex(qp);
}

int query_ece(ibv_qp* qp, ibv_ece* ece) {
  return is_shadowed(qp->context) ? EOPNOTSUPP : real().ibv_query_ece(qp, ece);
}

int set_ece(ibv_qp* qp, ibv_ece* ece) {
  return is_shadowed(qp->context) ? EOPNOTSUPP : real().ibv_set_ece(qp, ece);
}

int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  return is_shadowed(qp->context) ? 0 : real().ibv_query_qp_data_in_order(qp, opcode, flags);
}

int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return is_shadowed(qp->context) ? EOPNOTSUPP : real().ibv_attach_mcast(qp, gid, lid);
}

int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return is_shadowed(qp->context) ? EOPNOTSUPP : real().ibv_detach_mcast(qp, gid, lid);
}

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  return is_shadowed(pd->context) ? shadow().create_ah(pd, attr) : real().ibv_create_ah(pd, attr);
}

int destroy_ah(ibv_ah* ah) {
  return is_shadowed(ah->context) ? shadow().destroy_ah(ah) : real().ibv_destroy_ah(ah);
}

int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* out) {
  if (!is_shadowed(context)) return real().ibv_init_ah_from_wc(context, port, wc, grh, out);
  return with_physical(
      context,
      [&](ibv_context* one) {
        const int error = real().ibv_init_ah_from_wc(one, port, wc, grh, out);
        if (error == 0 && out->is_global != 0)
          out->grh.sgid_index = VirtualContext::of(context).gids.shown(out->grh.sgid_index);
        return error;
      },
      -1);
}

ibv_ah* create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  if (!is_shadowed(pd->context)) return real().ibv_create_ah_from_wc(pd, wc, grh, port);
  ibv_ah_attr attr{};
  if (init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return nullptr;
  return shadow().create_ah(pd, &attr);
}

ibv_pd* import_pd(ibv_context* context, std::uint32_t handle) {
  return is_shadowed(context) ? refused<ibv_pd>(EOPNOTSUPP) : real().ibv_import_pd(context, handle);
}

ibv_mr* import_mr(ibv_pd* pd, std::uint32_t handle) {
  return is_shadowed(pd->context) ? refused<ibv_mr>(EOPNOTSUPP) : real().ibv_import_mr(pd, handle);
}

ibv_dm* import_dm(ibv_context* context, std::uint32_t handle) {
  return is_shadowed(context) ? refused<ibv_dm>(EOPNOTSUPP) : real().ibv_import_dm(context, handle);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

const Override* find_object_override(const char* name, const char* version) {
  // Not at namespace scope: this is called before constructors have run.
  static const Override all[] = {
      {"ibv_alloc_pd", "IBVERBS_1.1", address(alloc_pd)},
      {"ibv_dealloc_pd", "IBVERBS_1.1", address(dealloc_pd)},
      {"ibv_reg_mr", "IBVERBS_1.1", address(reg_mr)},
      {"ibv_reg_mr_iova", "IBVERBS_1.7", address(reg_mr_iova)},
      {"ibv_reg_mr_iova2", "IBVERBS_1.8", address(reg_mr_iova2)},
      {"ibv_reg_dmabuf_mr", "IBVERBS_1.12", address(reg_dmabuf_mr)},
      {"ibv_rereg_mr", "IBVERBS_1.1", address(rereg_mr)},
      {"ibv_dereg_mr", "IBVERBS_1.1", address(dereg_mr)},
      {"ibv_create_comp_channel", "IBVERBS_1.0", address(create_comp_channel)},
      {"ibv_destroy_comp_channel", "IBVERBS_1.0", address(destroy_comp_channel)},
      {"ibv_create_cq", "IBVERBS_1.1", address(create_cq)},
      {"ibv_resize_cq", "IBVERBS_1.1", address(resize_cq)},
      {"ibv_destroy_cq", "IBVERBS_1.1", address(destroy_cq)},
      {"ibv_get_cq_event", "IBVERBS_1.1", address(get_cq_event)},
      {"ibv_ack_cq_events", "IBVERBS_1.1", address(ack_cq_events)},
      {"ibv_create_srq", "IBVERBS_1.1", address(create_srq)},
      {"ibv_modify_srq", "IBVERBS_1.1", address(modify_srq)},
      {"ibv_query_srq", "IBVERBS_1.1", address(query_srq)},
      {"ibv_destroy_srq", "IBVERBS_1.1", address(destroy_srq)},
      {"ibv_create_qp", "IBVERBS_1.1", address(create_qp)},
      {"ibv_modify_qp", "IBVERBS_1.1", address(modify_qp)},
      {"ibv_query_qp", "IBVERBS_1.1", address(query_qp)},
      {"ibv_destroy_qp", "IBVERBS_1.1", address(destroy_qp)},
      {"ibv_qp_to_qp_ex", "IBVERBS_1.6", address(qp_to_qp_ex)},
      {"ibv_query_ece", "IBVERBS_1.10", address(query_ece)},
      {"ibv_set_ece", "IBVERBS_1.10", address(set_ece)},
      {"ibv_query_qp_data_in_order", "IBVERBS_1.14", address(query_qp_data_in_order)},
      {"ibv_attach_mcast", "IBVERBS_1.1", address(attach_mcast)},
      {"ibv_detach_mcast", "IBVERBS_1.1", address(detach_mcast)},
      {"ibv_create_ah", "IBVERBS_1.1", address(create_ah)},
      {"ibv_destroy_ah", "IBVERBS_1.1", address(destroy_ah)},
      {"ibv_init_ah_from_wc", "IBVERBS_1.1", address(init_ah_from_wc)},
      {"ibv_create_ah_from_wc", "IBVERBS_1.1", address(create_ah_from_wc)},
      {"ibv_import_pd", "IBVERBS_1.10", address(import_pd)},
      {"ibv_import_mr", "IBVERBS_1.10", address(import_mr)},
      {"ibv_import_dm", "IBVERBS_1.13", address(import_dm)},
  };
  for (const Override& one : all)
    if (std::strcmp(one.name, name) == 0 && std::strcmp(one.version, version) == 0) return &one;
  return nullptr;
}

}  // namespace rdmove::shadow

// The same for librdmacm: the library before that one asks for it (rdmacm_choose.c).
extern "C" __attribute__((visibility("default"))) void* rdmove_choose_cm(const char* name,
                                                                         const char* version, void* function);
void* rdmove_choose_cm(const char* name, const char* version, void* function) {
  using namespace rdmove::shadow;
  ThisProcess::set_real_cm(name, version, function);
  if (function == nullptr) return nullptr;
  const Override* ours = find_cm_override(name, version, function);
  return ours == nullptr ? function : ours->function;
}

// Called for each symbol that is exported, with what the real library has under it, by fill_slots.c.
extern "C" void* rdmove_choose(const char* name, const char* version, void* function);
void* rdmove_choose(const char* name, const char* version, void* function) {
  using namespace rdmove::shadow;
  ThisProcess::set_real(name, version, function);
  if (function == nullptr) return nullptr;
  if (const Override* ours = find_device_override(name, version)) return ours->function;
  if (const Override* ours = find_object_override(name, version)) return ours->function;
  return function;
}
