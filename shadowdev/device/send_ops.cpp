#include "shadowdev/device/send_ops.hpp"

#include <cerrno>
#include <cstring>

#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow {
namespace {

constexpr std::uint64_t kOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                      IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                      IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;

VirtualQp& qp_of(ibv_qp_ex* qp) {
  return *static_cast<VirtualQp*>(&qp->qp_base);
}
SendOps& ops_of(ibv_qp_ex* qp) {
  return *qp_of(qp).send_ops;
}
ibv_send_wr& last(ibv_qp_ex* qp) {
  return ops_of(qp).requests.back().wr;
}

ibv_send_wr& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  SendOps& ops = ops_of(qp);
  SendOps::Request& request = ops.requests.emplace_back();
  request.first = ops.list.size();
  request.wr.wr_id = qp->wr_id;
  request.wr.send_flags = qp->wr_flags;
  request.wr.opcode = opcode;
  return request.wr;
}

void begin_remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address) {
  begin(qp, opcode).wr.rdma = {address, rkey};
}

void add(ibv_qp_ex* qp, const ibv_sge& entry) {
  SendOps& ops = ops_of(qp);
  ops.list.push_back(entry);
  ++ops.requests.back().entries;
}

void compare_and_swap(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                      std::uint64_t swap) {
  begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP).wr.atomic = {address, compare, swap, rkey};
}
void fetch_and_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t addend) {
  begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD).wr.atomic = {address, addend, 0, rkey};
}
void rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin_remote(qp, IBV_WR_RDMA_READ, rkey, address);
}
void rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin_remote(qp, IBV_WR_RDMA_WRITE, rkey, address);
}
void rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
  begin_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address);
  last(qp).imm_data = immediate;
}
void send(ibv_qp_ex* qp) {
  begin(qp, IBV_WR_SEND);
}
void send_imm(ibv_qp_ex* qp, __be32 immediate) {
  begin(qp, IBV_WR_SEND_WITH_IMM).imm_data = immediate;
}
void send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  begin(qp, IBV_WR_SEND_WITH_INV).invalidate_rkey = rkey;
}

void set_ud_address(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t number, std::uint32_t key) {
  last(qp).wr.ud = {ah, number, key};
}

void set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* buffers) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < count; ++i) length += buffers[i].length;
  auto& copy = ops_of(qp).inlined.emplace_back(new std::byte[length + 1]);
  std::byte* at = copy.get();
  for (std::size_t i = 0; i < count; ++i) {
    if (buffers[i].length != 0) std::memcpy(at, buffers[i].addr, buffers[i].length);
    at += buffers[i].length;
  }
  last(qp).send_flags |= IBV_SEND_INLINE;
  add(qp, {reinterpret_cast<std::uintptr_t>(copy.get()), static_cast<std::uint32_t>(length), 0});
}
void set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf one{address, length};
  set_inline_data_list(qp, 1, &one);
}

void set_sge(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  add(qp, {address, length, key});
}
void set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  for (std::size_t i = 0; i < count; ++i) add(qp, list[i]);
}

void clear(SendOps& ops) {
  ops.requests.clear();
  ops.list.clear();
  ops.inlined.clear();
}

void start(ibv_qp_ex* qp) {
  ops_of(qp).lock.lock();
  clear(ops_of(qp));
}

int complete(ibv_qp_ex* qp) {
  SendOps& ops = ops_of(qp);
  const std::lock_guard hold(ops.lock, std::adopt_lock);
  if (ops.requests.empty()) return 0;
  for (std::size_t i = 0; i < ops.requests.size(); ++i) {
    SendOps::Request& request = ops.requests[i];
    request.wr.sg_list = ops.list.data() + request.first;
    request.wr.num_sge = static_cast<int>(request.entries);
    request.wr.next = i + 1 < ops.requests.size() ? &ops.requests[i + 1].wr : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(&qp->qp_base, &ops.requests.front().wr, &bad);
}

void abandon(ibv_qp_ex* qp) {
  const std::lock_guard hold(ops_of(qp).lock, std::adopt_lock);
  clear(ops_of(qp));
}

}  // namespace

ibv_qp* create_with_send_ops(ShadowVerbs& verbs, ibv_qp_init_attr_ex* attributes) {
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  const bool has_ops = (attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((attributes->comp_mask & ~kKnown) != 0 || (attributes->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 ||
      (has_ops && (attributes->send_ops_flags & ~kOperations) != 0))
    return refused<ibv_qp>(EOPNOTSUPP);
  ibv_qp_init_attr init{};
  init.qp_context = attributes->qp_context;
  init.send_cq = attributes->send_cq;
  init.recv_cq = attributes->recv_cq;
  init.srq = attributes->srq;
  init.cap = attributes->cap;
  init.qp_type = attributes->qp_type;
  init.sq_sig_all = attributes->sq_sig_all;
  ibv_qp* shown = verbs.create_qp(attributes->pd, &init);
  if (shown == nullptr || !has_ops) return shown;
  attributes->cap = init.cap;
  auto& qp = *static_cast<VirtualQp*>(shown);
  qp.send_ops = std::make_unique<SendOps>();
  ibv_qp_ex* ex = send_ops_of(shown);
  ex->wr_atomic_cmp_swp = compare_and_swap;
  ex->wr_atomic_fetch_add = fetch_and_add;
  ex->wr_rdma_read = rdma_read;
  ex->wr_rdma_write = rdma_write;
  ex->wr_rdma_write_imm = rdma_write_imm;
  ex->wr_send = send;
  ex->wr_send_imm = send_imm;
  ex->wr_send_inv = send_inv;
  ex->wr_set_ud_addr = set_ud_address;
  ex->wr_set_inline_data = set_inline_data;
  ex->wr_set_inline_data_list = set_inline_data_list;
  ex->wr_set_sge = set_sge;
  ex->wr_set_sge_list = set_sge_list;
  ex->wr_start = start;
  ex->wr_complete = complete;
  ex->wr_abort = abandon;
  return shown;
}

ibv_qp_ex* send_ops_of(ibv_qp* shown) {
  auto& qp = *static_cast<VirtualQp*>(shown);
  return qp.send_ops == nullptr ? nullptr : reinterpret_cast<ibv_qp_ex*>(shown);
}

}  // namespace rdmove::shadow
