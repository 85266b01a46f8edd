#include "shadowdev/verbs/libibverbs.hpp"

#include <cerrno>

namespace rdmove::shadow {
namespace {

constexpr std::size_t kMostGids = 1024;  // rxe's table; others have fewer

}  // namespace

ibv_context* Libibverbs::open(std::string_view device) {
  int count = 0;
  ibv_device** list = calls_.ibv_get_device_list(&count);
  if (list == nullptr) return nullptr;
  ibv_context* context = nullptr;
  int error = ENODEV;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (device != std::string_view(list[i]->name)) continue;
    context = calls_.ibv_open_device(list[i]);
    error = errno;
  }
  calls_.ibv_free_device_list(list);
  if (context == nullptr) errno = error;
  return context;
}

int Libibverbs::close(ibv_context* context) {
  return calls_.ibv_close_device(context) == 0 ? 0 : errno;
}

int Libibverbs::device_attributes(ibv_context* context, ibv_device_attr* out) {
  return calls_.ibv_query_device(context, out);
}

int Libibverbs::port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* out) {
  // As verbs.h does it: the provider's own, or the library's for what was there before it grew.
  verbs_context* extended = verbs_get_ctx_op(context, query_port);
  if (extended != nullptr) return extended->query_port(context, port, out, sizeof *out);
  *out = {};
  return (calls_.ibv_query_port)(context, port, reinterpret_cast<_compat_ibv_port_attr*>(out));
}

int Libibverbs::gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) {
  return calls_.ibv_query_gid(context, port, index, out) == 0 ? 0 : errno;
}

int Libibverbs::gid_table(ibv_context* context, std::vector<ibv_gid_entry>* out) {
  std::vector<ibv_gid_entry> rows(kMostGids);
  const ssize_t got = calls_._ibv_query_gid_table(context, rows.data(), rows.size(), 0, sizeof rows.front());
  if (got < 0) return static_cast<int>(-got);
  rows.resize(static_cast<std::size_t>(got));
  *out = std::move(rows);
  return 0;
}

ibv_pd* Libibverbs::alloc_pd(ibv_context* context) {
  return calls_.ibv_alloc_pd(context);
}

int Libibverbs::dealloc_pd(ibv_pd* pd) {
  return calls_.ibv_dealloc_pd(pd);
}

ibv_mr* Libibverbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                           unsigned access) {
  return calls_.ibv_reg_mr_iova2(pd, address, length, iova, access);
}

int Libibverbs::dereg_mr(ibv_mr* mr) {
  return calls_.ibv_dereg_mr(mr);
}

ibv_comp_channel* Libibverbs::create_channel(ibv_context* context) {
  return calls_.ibv_create_comp_channel(context);
}

int Libibverbs::destroy_channel(ibv_comp_channel* channel) {
  return calls_.ibv_destroy_comp_channel(channel);
}

ibv_cq* Libibverbs::create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                              int vector) {
  return calls_.ibv_create_cq(context, entries, cq_context, channel, vector);
}

int Libibverbs::destroy_cq(ibv_cq* cq) {
  return calls_.ibv_destroy_cq(cq);
}

int Libibverbs::get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  return calls_.ibv_get_cq_event(channel, cq, cq_context);
}

void Libibverbs::ack_cq_events(ibv_cq* cq, unsigned events) {
  calls_.ibv_ack_cq_events(cq, events);
}

ibv_srq* Libibverbs::create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  return calls_.ibv_create_srq(pd, attributes);
}

int Libibverbs::modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  return calls_.ibv_modify_srq(srq, attributes, mask);
}

int Libibverbs::query_srq(ibv_srq* srq, ibv_srq_attr* out) {
  return calls_.ibv_query_srq(srq, out);
}

int Libibverbs::destroy_srq(ibv_srq* srq) {
  return calls_.ibv_destroy_srq(srq);
}

ibv_qp* Libibverbs::create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  return calls_.ibv_create_qp(pd, attributes);
}

int Libibverbs::modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  return calls_.ibv_modify_qp(qp, attributes, mask);
}

int Libibverbs::query_qp(ibv_qp* qp, ibv_qp_attr* out, int mask, ibv_qp_init_attr* init_out) {
  return calls_.ibv_query_qp(qp, out, mask, init_out);
}

int Libibverbs::destroy_qp(ibv_qp* qp) {
  return calls_.ibv_destroy_qp(qp);
}

ibv_ah* Libibverbs::create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  return calls_.ibv_create_ah(pd, attributes);
}

int Libibverbs::destroy_ah(ibv_ah* ah) {
  return calls_.ibv_destroy_ah(ah);
}

int Libibverbs::get_async_event(ibv_context* context, ibv_async_event* out) {
  return calls_.ibv_get_async_event(context, out);
}

void Libibverbs::ack_async_event(ibv_async_event* event) {
  calls_.ibv_ack_async_event(event);
}

}  // namespace rdmove::shadow
