#include "device.hpp"

#include <fcntl.h>

namespace many {

Message make_message(std::uint64_t run, std::uint32_t index, std::uint64_t number) {
  Message message{.run = run, .index = index, .number = number};
  std::uint64_t word = run ^ (std::uint64_t{index} << 32) ^ number;
  for (auto& part : message.contents) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    part = word;
  }
  return message;
}

bool is_intact(const Message& message) {
  return message.magic == Message::kMagic &&
         message.contents == make_message(message.run, message.index, message.number).contents;
}

beat::Result<std::unique_ptr<Device>> Device::open(ibv_context* context, std::uint32_t slots) {
  std::unique_ptr<Device> device(new Device(context, slots));
  if (auto done = device->allocate(); !done) return tl::unexpected(done.error());
  return device;
}

beat::Result<void> Device::allocate() {
  if (!(domain_ = ibv_alloc_pd(context_))) return tl::unexpected(beat::last_error("ibv_alloc_pd"));
  if (!(completions_ = ibv_create_comp_channel(context_)))
    return tl::unexpected(beat::last_error("ibv_create_comp_channel"));
  if (fcntl(completions_->fd, F_SETFL, O_NONBLOCK) != 0) return tl::unexpected(beat::last_error("fcntl"));
  // At most two requests of each slot are under way.
  if (!(queue_ = ibv_create_cq(context_, static_cast<int>(2 * buffers_.size()), nullptr, completions_, 0)))
    return tl::unexpected(beat::last_error("ibv_create_cq"));
  ibv_req_notify_cq(queue_, 0);
  region_ = ibv_reg_mr(domain_, buffers_.data(), buffers_.size() * sizeof(Message), IBV_ACCESS_LOCAL_WRITE);
  if (!region_) return tl::unexpected(beat::last_error("ibv_reg_mr"));
  return {};
}

Device::~Device() {
  if (region_) ibv_dereg_mr(region_);
  if (queue_) ibv_destroy_cq(queue_);
  if (completions_) ibv_destroy_comp_channel(completions_);
  if (domain_) ibv_dealloc_pd(domain_);
}

beat::Result<void> Device::equip(rdma_cm_id* id, std::uint32_t slot) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue_;
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  attributes.cap = {
      .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  if (rdma_create_qp(id, domain_, &attributes) != 0)
    return tl::unexpected(beat::last_error("rdma_create_qp"));
  return receive(id, slot);
}

beat::Result<void> Device::receive(rdma_cm_id* id, std::uint32_t slot) {
  ibv_sge part{reinterpret_cast<std::uint64_t>(&buffers_[2 * slot + 1]), sizeof(Message), region_->lkey};
  ibv_recv_wr request{};
  request.wr_id = 2 * std::uint64_t{slot} + 1;
  request.sg_list = &part;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(id->qp, &request, &bad) != 0) return tl::unexpected(beat::last_error("ibv_post_recv"));
  return {};
}

beat::Result<void> Device::send(rdma_cm_id* id, std::uint32_t slot, const Message& message) {
  buffers_[2 * slot] = message;
  ibv_sge part{reinterpret_cast<std::uint64_t>(&buffers_[2 * slot]), sizeof(Message), region_->lkey};
  ibv_send_wr request{};
  request.wr_id = 2 * std::uint64_t{slot};
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(id->qp, &request, &bad) != 0) return tl::unexpected(beat::last_error("ibv_post_send"));
  return {};
}

void Device::poll(const std::function<void(const Completion&)>& completed) {
  ibv_cq* source = nullptr;
  void* context = nullptr;
  unsigned events = 0;
  while (ibv_get_cq_event(completions_, &source, &context) == 0) ++events;
  if (events != 0) ibv_ack_cq_events(queue_, events);
  ibv_req_notify_cq(queue_, 0);  // before looking: what completes from now on makes a new event
  std::array<ibv_wc, 32> done{};
  for (int count; (count = ibv_poll_cq(queue_, static_cast<int>(done.size()), done.data())) > 0;) {
    for (int next = 0; next < count; ++next) {
      const ibv_wc& one = done[static_cast<std::size_t>(next)];
      const bool succeeded = one.status == IBV_WC_SUCCESS;
      const bool received = one.wr_id % 2 == 1;
      completed({static_cast<std::uint32_t>(one.wr_id / 2), received, succeeded, one.qp_num,
                 succeeded && received ? buffers_[one.wr_id] : Message{}});
    }
  }
}

}  // namespace many
