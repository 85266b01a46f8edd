#include "guestagent/failover/channel/verbs_link.hpp"

#include <utility>

namespace rdmove::failover::channel {

VerbsLink::VerbsLink(WorkQueue& queue) : queue_(queue) {
  send_.sg_list = &send_part_;
  send_.num_sge = 1;
  send_.opcode = IBV_WR_SEND;
  send_.send_flags = IBV_SEND_SIGNALED;
  receive_.sg_list = &receive_part_;
  receive_.num_sge = 1;
}

void VerbsLink::use_slab(const Slab& slab, std::unique_ptr<Region> region) {
  slab_ = &slab;
  slab_region_ = std::move(region);
}

void VerbsLink::add_region(RegionPlace place, std::unique_ptr<Region> region) {
  regions_.at(static_cast<std::size_t>(place)) = std::move(region);
}

void VerbsLink::remove_region(RegionPlace place) {
  regions_.at(static_cast<std::size_t>(place)).reset();
}

std::uint32_t VerbsLink::remote_key(RegionPlace place) const {
  const auto& region = regions_.at(static_cast<std::size_t>(place));
  return region ? region->remote_key() : 0;
}

void VerbsLink::completed(const ibv_wc& completion, Session& session) {
  if ((completion.opcode & IBV_WC_RECV) != 0) {
    session.received(static_cast<ReceiveSlot>(completion.wr_id), completion.byte_len);
  } else {
    session.sent(Token{completion.wr_id});
  }
}

bool VerbsLink::post_send(std::span<const std::byte> frame, Token token) {
  send_part_.addr = reinterpret_cast<std::uint64_t>(frame.data());
  send_part_.length = static_cast<std::uint32_t>(frame.size());
  send_.wr_id = static_cast<std::uint64_t>(token);
  return queue_.post_send(send_);
}

bool VerbsLink::post_receive(ReceiveSlot slot) {
  const auto memory = slab_->receive_slot(slot);
  receive_part_.addr = reinterpret_cast<std::uint64_t>(memory.data());
  receive_part_.length = static_cast<std::uint32_t>(memory.size());
  receive_.wr_id = static_cast<std::uint64_t>(slot);
  return queue_.post_receive(receive_);
}

bool VerbsLink::post_write(const OneSidedWork& work, Token token) {
  return post_one_sided(IBV_WR_RDMA_WRITE, work, token);
}

bool VerbsLink::post_read(const OneSidedWork& work, Token token) {
  return post_one_sided(IBV_WR_RDMA_READ, work, token);
}

bool VerbsLink::post_one_sided(ibv_wr_opcode opcode, const OneSidedWork& work, Token token) {
  const auto& region = regions_.at(static_cast<std::size_t>(work.local));
  if (!region) return false;
  const auto address = reinterpret_cast<std::uint64_t>(region->address()) + work.local_offset;
  ibv_sge part{address, work.length, region->local_key()};
  ibv_send_wr request{};
  request.wr_id = static_cast<std::uint64_t>(token);
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = work.remote_address;
  request.wr.rdma.rkey = work.remote_key;
  return queue_.post_send(request);
}

}  // namespace rdmove::failover::channel
