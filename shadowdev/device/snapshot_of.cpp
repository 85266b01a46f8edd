#include "shadowdev/device/snapshot_of.hpp"

#include <algorithm>

namespace rdmove::shadow {
namespace {

using model::ObjectId;

/// Ids in the order of snapshots: what is referred to has the lower one.
class Ids {
 public:
  ObjectId add(const void* object) { return ids_[object] = ObjectId{++last_}; }
  [[nodiscard]] ObjectId of(const void* object) const {
    const auto found = ids_.find(object);
    return found == ids_.end() ? model::kNone : found->second;
  }

 private:
  std::map<const void*, ObjectId> ids_;
  std::uint32_t last_ = 0;
};

model::Path path_of(const ibv_ah_attr& ah) {
  model::Path path;
  std::copy_n(ah.grh.dgid.raw, 16, path.destination.begin());
  path.lid = ah.dlid;
  path.source_gid_index = ah.grh.sgid_index;
  path.service_level = ah.sl;
  path.traffic_class = ah.grh.traffic_class;
  path.hop_limit = ah.grh.hop_limit;
  path.flow_label = ah.grh.flow_label;
  path.port = ah.port_num;
  path.static_rate = ah.static_rate;
  path.source_path_bits = ah.src_path_bits;
  path.is_global = ah.is_global != 0;
  return path;
}

std::vector<model::ScatterEntry> entries_of(const std::vector<ibv_sge>& list) {
  std::vector<model::ScatterEntry> entries;
  for (const ibv_sge& sge : list) entries.push_back({sge.addr, sge.length, model::MemoryKey{sge.lkey}});
  return entries;
}

std::vector<model::Receive> receives_of(const std::deque<ReceiveWork>& parked) {
  std::vector<model::Receive> all;
  for (const ReceiveWork& one : parked) all.push_back({one.wr_id, entries_of(one.list)});
  return all;
}

model::Send send_of(const VirtualQp& qp, const SendWork& work, const Ids& ids) {
  const ibv_send_wr& wr = work.request();
  model::Send send;
  send.wr_id = wr.wr_id;
  send.opcode = wr.opcode;
  send.flags = wr.send_flags;
  send.immediate = wr.imm_data;
  send.from = entries_of(work.list());
  for (const std::byte byte : work.inlined()) send.inlined.push_back(std::to_integer<std::uint8_t>(byte));
  if (qp.qp_type == IBV_QPT_UD) {
    send.ah = ids.of(static_cast<const VirtualAh*>(wr.wr.ud.ah));
    send.remote_number = model::QueuePairNumber{wr.wr.ud.remote_qpn};
    send.remote_qkey = wr.wr.ud.remote_qkey;
    return send;
  }
  const bool atomic = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  send.remote_address = wr.wr.rdma.remote_addr;
  send.rkey = model::MemoryKey{atomic ? wr.wr.atomic.rkey : wr.wr.rdma.rkey};
  if (atomic) {
    send.compare_add = wr.wr.atomic.compare_add;
    send.swap = wr.wr.atomic.swap;
  }
  return send;
}

model::QueuePair queue_pair_of(VirtualQp& qp, const Ids& ids) {
  const std::lock_guard hold(qp.lock);
  const std::lock_guard receives(qp.receive_lock);
  model::QueuePair one;
  one.pd = ids.of(static_cast<VirtualPd*>(qp.pd));
  one.send_cq = ids.of(static_cast<VirtualCq*>(qp.send_cq));
  one.recv_cq = ids.of(static_cast<VirtualCq*>(qp.recv_cq));
  one.srq = qp.srq == nullptr ? model::kNone : ids.of(static_cast<VirtualSrq*>(qp.srq));
  one.type = static_cast<model::QpType>(qp.qp_type);
  one.state = static_cast<model::QpState>(qp.attr.qp_state);
  one.phase = qp.phase.load();
  one.number = model::QueuePairNumber{qp.qp_num};
  one.physical_number = model::QueuePairNumber{qp.physical == nullptr ? 0 : qp.physical->qp_num};
  one.max_send_wr = qp.init.cap.max_send_wr;
  one.max_recv_wr = qp.init.cap.max_recv_wr;
  one.max_send_sge = qp.init.cap.max_send_sge;
  one.max_recv_sge = qp.init.cap.max_recv_sge;
  one.max_inline = qp.init.cap.max_inline_data;
  one.signals_all = qp.init.sq_sig_all != 0;
  one.access = qp.attr.qp_access_flags;
  one.pkey_index = qp.attr.pkey_index;
  one.port = qp.attr.port_num;
  one.qkey = qp.attr.qkey;
  one.path_mtu = static_cast<std::uint8_t>(qp.attr.path_mtu);
  one.timeout = qp.attr.timeout;
  one.retry_count = qp.attr.retry_cnt;
  one.rnr_retry = qp.attr.rnr_retry;
  one.min_rnr_timer = qp.attr.min_rnr_timer;
  one.max_rd_atomic = qp.attr.max_rd_atomic;
  one.max_dest_rd_atomic = qp.attr.max_dest_rd_atomic;
  constexpr std::uint32_t k24Bits = 0xFFFFFF;  // programs may have set more bits, which nobody looks at
  one.send_psn = model::PacketSequenceNumber{(qp.translates ? qp.send_psn : qp.attr.sq_psn) & k24Bits};
  one.receive_psn = model::PacketSequenceNumber{(qp.translates ? qp.receive_psn : qp.attr.rq_psn) & k24Bits};
  one.path = path_of(qp.attr.ah_attr);
  one.peer_number = model::QueuePairNumber{qp.attr.dest_qp_num & k24Bits};
  one.peer_physical_number = model::QueuePairNumber{qp.peer_physical & k24Bits};
  one.epoch = qp.epoch;
  one.peer_epoch = qp.peer_epoch;
  for (const SendWork& work : qp.held) one.held.push_back(send_of(qp, work, ids));
  one.receives = receives_of(qp.parked_receives);
  return one;
}

model::CompletionQueue completion_queue_of(VirtualCq& cq) {
  const std::lock_guard hold(cq.lock);
  model::CompletionQueue one;
  one.entries = static_cast<std::uint32_t>(cq.cqe);
  one.armed = cq.armed.load();
  for (const ibv_wc& wc : cq.backlog)
    one.backlog.push_back(
        {wc.wr_id, static_cast<std::uint32_t>(wc.status), static_cast<std::uint32_t>(wc.opcode), wc.byte_len,
         wc.imm_data, model::QueuePairNumber{wc.qp_num}, model::QueuePairNumber{wc.src_qp}, wc.wc_flags});
  return one;
}

}  // namespace

model::Process snapshot_of(Engine& engine) {
  const std::lock_guard hold(engine.control);
  model::Process process;
  Ids ids;
  const auto with = [&](auto object, const void* of) {
    object.id = ids.add(of);
    return object;
  };
  for (VirtualContext* context : engine.contexts) {
    model::Context one{{}, context->name, {}, context->presence, context->moves};
    if (const ibv_gid_entry* gid = context->gids.at(context->gids.to_itself()))
      std::copy_n(gid->gid.raw, 16, one.gid.begin());
    process.contexts.push_back(with(one, context));
    const ObjectId here = ids.of(context);
    for (VirtualPd* pd : context->pds) process.pds.push_back(with(model::ProtectionDomain{{}, here}, pd));
    for (VirtualMr* mr : context->mrs) {
      const auto key = [](std::uint32_t number) { return model::MemoryKey{number}; };
      const ibv_mr* below = mr->physical;
      process.regions.push_back(with(model::MemoryRegion{{},
                                                         ids.of(static_cast<VirtualPd*>(mr->pd)),
                                                         reinterpret_cast<std::uintptr_t>(mr->addr),
                                                         mr->length,
                                                         mr->iova,
                                                         mr->access,
                                                         key(mr->lkey),
                                                         key(mr->rkey),
                                                         key(below == nullptr ? 0 : below->lkey),
                                                         key(below == nullptr ? 0 : below->rkey)},
                                     mr));
    }
    for (VirtualChannel* channel : context->channels) {
      const std::lock_guard events(channel->lock);
      process.channels.push_back(with(
          model::CompletionChannel{{}, here, static_cast<std::uint32_t>(channel->events.size())}, channel));
    }
    for (VirtualCq* cq : context->cqs) {
      auto made = completion_queue_of(*cq);
      made.context = here;
      made.channel =
          cq->channel == nullptr ? model::kNone : ids.of(static_cast<VirtualChannel*>(cq->channel));
      process.cqs.push_back(with(std::move(made), cq));
    }
    for (VirtualSrq* srq : context->srqs) {
      const std::lock_guard receives(srq->receive_lock);
      process.srqs.push_back(with(model::SharedReceiveQueue{{},
                                                            ids.of(static_cast<VirtualPd*>(srq->pd)),
                                                            srq->attributes.max_wr,
                                                            srq->attributes.max_sge,
                                                            srq->attributes.srq_limit,
                                                            receives_of(srq->parked)},
                                  srq));
    }
    for (VirtualAh* ah : context->ahs)
      process.ahs.push_back(with(
          model::AddressHandle{{}, ids.of(static_cast<VirtualPd*>(ah->pd)), path_of(ah->attributes)}, ah));
    for (VirtualQp* qp : context->qps) {
      auto made = queue_pair_of(*qp, ids);
      process.qps.push_back(with(std::move(made), qp));
    }
  }
  return process;
}

}  // namespace rdmove::shadow
