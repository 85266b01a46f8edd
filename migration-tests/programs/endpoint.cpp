#include "endpoint.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>

namespace beat {

Result<std::unique_ptr<Endpoint>> Endpoint::create(Id id) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(std::move(id)));
  if (auto done = endpoint->allocate(); !done) return tl::unexpected(done.error());
  return endpoint;
}

Result<void> Endpoint::allocate() {
  ibv_context* device = id_->verbs;
  if (!device) return tl::unexpected(std::string("the id is bound to no RDMA device"));
  if (!(domain_ = ibv_alloc_pd(device))) return tl::unexpected(last_error("ibv_alloc_pd"));
  if (!(completions_ = ibv_create_comp_channel(device)))
    return tl::unexpected(last_error("ibv_create_comp_channel"));
  fcntl(completions_->fd, F_SETFL, fcntl(completions_->fd, F_GETFL) | O_NONBLOCK);
  if (!(queue_ = ibv_create_cq(device, 4 * kSlots, nullptr, completions_, 0)))
    return tl::unexpected(last_error("ibv_create_cq"));
  if (!(region_ = ibv_reg_mr(domain_, buffers_.data(), sizeof(buffers_), IBV_ACCESS_LOCAL_WRITE)))
    return tl::unexpected(last_error("ibv_reg_mr"));
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue_;
  attributes.cap = {kSlots, kSlots, 1, 1, 0};
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  if (rdma_create_qp(id_.get(), domain_, &attributes) != 0)
    return tl::unexpected(last_error("rdma_create_qp"));
  has_qp_ = true;
  if (ibv_req_notify_cq(queue_, 0) != 0) return tl::unexpected(last_error("ibv_req_notify_cq"));
  for (std::uint64_t slot = 0; slot < kSlots; ++slot)
    if (auto done = post_receive(slot); !done) return done;
  return {};
}

Result<void> Endpoint::post_receive(std::uint64_t slot) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(&buffers_.at(slot)), sizeof(Message), region_->lkey};
  ibv_recv_wr request{};
  request.wr_id = slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if ((errno = ibv_post_recv(id_->qp, &request, &bad)) != 0)
    return tl::unexpected(last_error("ibv_post_recv"));
  ++outstanding_;
  return {};
}

Result<void> Endpoint::send(const Message& message) {
  const std::uint64_t slot = kSlots + next_send_++ % kSlots;
  buffers_.at(slot) = message;
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(&buffers_.at(slot)), sizeof(Message), region_->lkey};
  ibv_send_wr request{};
  request.wr_id = slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  if ((errno = ibv_post_send(id_->qp, &request, &bad)) != 0)
    return tl::unexpected(last_error("ibv_post_send"));
  ++outstanding_;
  return {};
}

Result<void> Endpoint::poll(const std::function<void(const Message&)>& received) {
  ibv_cq* source = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(completions_, &source, &context) == 0) ibv_ack_cq_events(source, 1);
  ibv_req_notify_cq(queue_, 0);  // before looking: what completes from now on makes a new event
  ibv_wc completion{};
  while (ibv_poll_cq(queue_, 1, &completion) > 0) {
    --outstanding_;
    if (completion.status != IBV_WC_SUCCESS)
      return tl::unexpected(std::string(ibv_wc_status_str(completion.status)));
    last_success_ = Clock::now();
    if (completion.wr_id >= kSlots) continue;
    const Message message = buffers_.at(completion.wr_id);
    if (auto done = post_receive(completion.wr_id); !done) return done;
    received(message);
  }
  return {};
}

// What was posted comes back flushed. On a device that is gone it may not: bounded.
void Endpoint::drain() {
  const Time deadline = Clock::now() + std::chrono::milliseconds(100);
  ibv_wc completion{};
  while (outstanding_ > 0 && Clock::now() < deadline) {
    if (ibv_poll_cq(queue_, 1, &completion) > 0) {
      --outstanding_;
      continue;
    }
    pollfd ready{completions_->fd, POLLIN, 0};
    ::poll(&ready, 1, 5);
    ibv_cq* source = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(completions_, &source, &context) == 0) ibv_ack_cq_events(source, 1);
    ibv_req_notify_cq(queue_, 0);
  }
}

Endpoint::~Endpoint() {
  if (has_qp_) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE);
    drain();
    rdma_destroy_qp(id_.get());
  }
  if (region_) ibv_dereg_mr(region_);
  if (queue_) ibv_destroy_cq(queue_);
  if (completions_) ibv_destroy_comp_channel(completions_);
  if (domain_) ibv_dealloc_pd(domain_);
  // id_ is a member and goes last, after this body.
}

}  // namespace beat
