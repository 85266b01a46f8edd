#include "raw_end.hpp"

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace stream {
namespace {

constexpr int kTimeout = 5000;  // ms
constexpr std::uint64_t kReceives = 1ULL << 32;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}
void check(int status, const char* what) {
  if (status > 0) errno = status;
  if (status != 0) fail(what);
}

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) throw std::runtime_error("no IPv4 address: " + text);
  return address;
}

rdma_cm_id* new_id() {
  rdma_cm_id* id = nullptr;
  check(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");  // without a channel: calls wait
  return id;
}

rdma_conn_param parameters() {
  rdma_conn_param out{};
  out.retry_count = 7;
  out.rnr_retry_count = 7;
  return out;
}

}  // namespace

std::unique_ptr<RawEnd> RawEnd::connect(const std::string& address, std::uint16_t port, std::size_t size) {
  auto to = address_of(address, port);
  rdma_cm_id* id = new_id();
  check(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), kTimeout), "rdma_resolve_addr");
  check(rdma_resolve_route(id, kTimeout), "rdma_resolve_route");
  std::unique_ptr<RawEnd> end(new RawEnd(id, size));
  auto how = parameters();
  check(rdma_connect(id, &how), "rdma_connect");
  return end;
}

rdma_cm_id* RawEnd::listen(const std::string& address, std::uint16_t port) {
  auto at = address_of(address, port);
  rdma_cm_id* id = new_id();
  check(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&at)), "rdma_bind_addr");
  check(rdma_listen(id, 8), "rdma_listen");
  return id;
}

std::unique_ptr<RawEnd> RawEnd::accept(rdma_cm_id* listener, std::size_t size) {
  rdma_cm_id* id = nullptr;
  check(rdma_get_request(listener, &id), "rdma_get_request");
  std::unique_ptr<RawEnd> end(new RawEnd(id, size));
  auto how = parameters();
  check(rdma_accept(id, &how), "rdma_accept");
  return end;
}

RawEnd::RawEnd(rdma_cm_id* id, std::size_t size) : id_(id), size_(size), slots_(2 * kSlots * size), message_(size) {
  if ((domain_ = ibv_alloc_pd(id->verbs)) == nullptr) fail("ibv_alloc_pd");
  if ((completions_ = ibv_create_comp_channel(id->verbs)) == nullptr) fail("ibv_create_comp_channel");
  if ((queue_ = ibv_create_cq(id->verbs, 2 * kSlots, nullptr, completions_, 0)) == nullptr) fail("ibv_create_cq");
  if ((region_ = ibv_reg_mr(domain_, slots_.data(), slots_.size(), IBV_ACCESS_LOCAL_WRITE)) == nullptr)
    fail("ibv_reg_mr");
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue_;
  attributes.cap = {kSlots, kSlots, 1, 1, 0};
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  check(rdma_create_qp(id, domain_, &attributes), "rdma_create_qp");
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) post_receive(slot);
}

RawEnd::~RawEnd() {
  rdma_disconnect(id_);
  rdma_destroy_qp(id_);
  ibv_dereg_mr(region_);
  ibv_destroy_cq(queue_);
  ibv_destroy_comp_channel(completions_);
  ibv_dealloc_pd(domain_);
  rdma_destroy_id(id_);
}

void RawEnd::post_receive(std::uint64_t slot) {
  ibv_sge part{reinterpret_cast<std::uintptr_t>(&slots_[slot * size_]), static_cast<std::uint32_t>(size_),
               region_->lkey};
  ibv_recv_wr request{};
  request.wr_id = kReceives | slot;
  request.sg_list = &part;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  check(ibv_post_recv(id_->qp, &request, &bad), "ibv_post_recv");
}

void RawEnd::post_send(std::size_t length) {
  std::byte* slot = &slots_[(kSlots + next_++ % kSlots) * size_];
  std::memcpy(slot, message_.data(), length);
  ibv_sge part{reinterpret_cast<std::uintptr_t>(slot), static_cast<std::uint32_t>(length), region_->lkey};
  ibv_send_wr request{};
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  check(ibv_post_send(id_->qp, &request, &bad), "ibv_post_send");
  ++in_flight_;
}

/// Armed, and looked at once more, before it sleeps.
void RawEnd::wait() {
  ibv_cq* which = nullptr;
  void* context = nullptr;
  check(ibv_get_cq_event(completions_, &which, &context), "ibv_get_cq_event");
  ibv_ack_cq_events(which, 1);
}

bool RawEnd::take() {
  std::array<ibv_wc, kBatch> done;
  int count = ibv_poll_cq(queue_, kBatch, done.data());
  if (count == 0) {
    check(ibv_req_notify_cq(queue_, 0), "ibv_req_notify_cq");
    count = ibv_poll_cq(queue_, kBatch, done.data());
    if (count == 0) {
      wait();
      count = ibv_poll_cq(queue_, kBatch, done.data());
    }
  }
  for (int i = 0; i < count; ++i) {
    const ibv_wc& one = done[static_cast<std::size_t>(i)];
    if (one.status != IBV_WC_SUCCESS) return false;
    if ((one.wr_id & kReceives) == 0) {
      --in_flight_;
      continue;
    }
    ++received_;
    post_receive(one.wr_id & ~kReceives);
  }
  return count >= 0;
}

void RawEnd::send(std::uint64_t count) {
  received_ = 0;  // credits
  for (std::uint64_t sent = 0; received_ * kBatch < count;) {
    while (sent < count && sent - received_ * kBatch < kSlots && in_flight_ < kSlots) {
      post_send(size_);
      ++sent;
    }
    if (!take()) throw std::runtime_error("the connection is broken");
  }
}

void RawEnd::serve() {
  for (std::uint64_t credited = 0; take();) {
    for (; received_ - credited >= kBatch; credited += kBatch) post_send(1);
  }
}

}  // namespace stream
