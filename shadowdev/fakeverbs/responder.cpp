// What a request does at the other end, and what its sender hears of it.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "shadowdev/fakeverbs/wire.hpp"

namespace rdmove::shadow::fake {
namespace {

constexpr int kNoReceive = -1;
constexpr std::size_t kGrh = 40;  // before every datagram in its receive buffer

bool takes_receive(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_SEND_WITH_INV ||
         opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool is_write(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

Mr* find_mr(const Qp& qp, std::uint32_t key) {
  auto& mrs = device_of(qp.context).mrs;
  const auto found = mrs.find(key);
  return found == mrs.end() || found->second->pd != qp.pd ? nullptr : found->second;
}

std::deque<Receive>& receives_of(Qp& qp) {
  return qp.srq != nullptr ? static_cast<Srq*>(qp.srq)->posted : qp.receives;
}

/// The requester's word for what went wrong at the responder (IBTA volume 1, 9.9.2: NAK codes).
ibv_wc_status at_requester(ibv_wc_status at_responder) {
  return at_responder == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
}

}  // namespace

Qp* Wire::peer_of(Qp& qp) {
  Device* device = fabric.at(qp.attr.ah_attr.grh.dgid);
  if (device == nullptr) return nullptr;
  const auto found = device->qps.find(qp.attr.dest_qp_num);
  if (found == device->qps.end()) return nullptr;
  Qp& peer = *found->second;
  const bool receives = peer.attr.qp_state == IBV_QPS_RTR || peer.attr.qp_state == IBV_QPS_RTS;
  const bool knows_us = peer.attr.dest_qp_num == qp.qp_num &&
                        std::memcmp(peer.attr.ah_attr.grh.dgid.raw, device_of(qp.context).gid.raw, 16) == 0;
  return receives && knows_us && peer.qp_type == qp.qp_type ? &peer : nullptr;
}

bool Wire::execute_connected(Qp& qp, Request& request) {
  const bool reliable = qp.qp_type == IBV_QPT_RC;
  Qp* peer = peer_of(qp);
  // UC takes up again at the first packet of a message (IBTA volume 1, 9.8.2; rxe_resp.c, check_psn).
  if (peer == nullptr || (reliable && peer->expected_psn != request.psn)) {
    if (!reliable) {
      executed(qp, request);
      return true;
    }
    if (++qp.retries > qp.attr.retry_cnt) fail(qp, IBV_WC_RETRY_EXC_ERR);
    return true;
  }
  const int status = respond(qp, request, *peer);
  if (!reliable && status != IBV_WC_LOC_PROT_ERR) {  // lost by right
    peer->expected_psn = (request.psn + request.packets) & kPsnMask;
    executed(qp, request);
    return true;
  }
  if (status == kNoReceive) {
    if (qp.attr.rnr_retry == 7) return false;  // for ever: it waits for a receive
    if (++qp.rnr_retries > qp.attr.rnr_retry) fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
    return true;
  }
  if (status != IBV_WC_SUCCESS) {
    fail(qp, static_cast<ibv_wc_status>(status));
    if (status != IBV_WC_LOC_PROT_ERR) enter_error(*peer);  // class C faults put the responder in ERR (9.9.3)
    return true;
  }
  qp.retries = qp.rnr_retries = 0;
  peer->expected_psn = (request.psn + request.packets) & kPsnMask;
  executed(qp, request);
  return true;
}

void Wire::executed(Qp& qp, Request& request) {
  request.executed = true;
  qp.sent_psn = (request.psn + request.packets) & kPsnMask;
}

int Wire::respond(Qp& qp, Request& request, Qp& peer) {
  const auto opcode = request.wr.opcode;
  if (opcode == IBV_WR_RDMA_READ) return read(request, peer);
  if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    return atomic(request, peer);
  std::vector<std::byte> data;
  if (!gather(qp, request, data)) return IBV_WC_LOC_PROT_ERR;
  if (takes_receive(opcode) && receives_of(peer).empty()) return kNoReceive;
  if (is_write(opcode)) {
    if (const auto status = write(request, peer, data); status != IBV_WC_SUCCESS) return status;
  }
  return takes_receive(opcode) ? deliver(qp, request, peer, data) : int{IBV_WC_SUCCESS};
}

ibv_wc_status Wire::write(Request& request, Qp& peer, const std::vector<std::byte>& data) {
  // Also for 0 bytes, whose key nobody looks at (IBTA volume 1, 9.7.4.1.5; rxe_resp.c, check_rkey).
  if ((peer.attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) == 0) return IBV_WC_REM_INV_REQ_ERR;
  if (data.empty()) return IBV_WC_SUCCESS;
  const Mr* mr = find_mr(peer, request.wr.wr.rdma.rkey);
  if (mr == nullptr || (mr->access & IBV_ACCESS_REMOTE_WRITE) == 0 ||
      !mr->covers(request.wr.wr.rdma.remote_addr, data.size()))
    return IBV_WC_REM_ACCESS_ERR;
  std::memcpy(mr->at(request.wr.wr.rdma.remote_addr), data.data(), data.size());
  return IBV_WC_SUCCESS;
}

ibv_wc_status Wire::read(Request& request, Qp& peer) {
  if ((peer.attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) == 0) return IBV_WC_REM_INV_REQ_ERR;
  if (request.length == 0) return IBV_WC_SUCCESS;
  const Mr* mr = find_mr(peer, request.wr.wr.rdma.rkey);
  if (mr == nullptr || (mr->access & IBV_ACCESS_REMOTE_READ) == 0 ||
      !mr->covers(request.wr.wr.rdma.remote_addr, request.length))
    return IBV_WC_REM_ACCESS_ERR;
  const std::byte* from = mr->at(request.wr.wr.rdma.remote_addr);
  request.answer.assign(from, from + request.length);
  return IBV_WC_SUCCESS;
}

ibv_wc_status Wire::atomic(Request& request, Qp& peer) {
  const auto& what = request.wr.wr.atomic;
  if ((peer.attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) == 0 || what.remote_addr % 8 != 0)
    return IBV_WC_REM_INV_REQ_ERR;
  const Mr* mr = find_mr(peer, what.rkey);
  if (mr == nullptr || (mr->access & IBV_ACCESS_REMOTE_ATOMIC) == 0 || !mr->covers(what.remote_addr, 8))
    return IBV_WC_REM_ACCESS_ERR;
  std::uint64_t before = 0;
  std::memcpy(&before, mr->at(what.remote_addr), 8);
  std::uint64_t after = before + what.compare_add;
  if (request.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) after = before == what.compare_add ? what.swap : before;
  std::memcpy(mr->at(what.remote_addr), &after, 8);
  request.answer.resize(8);
  std::memcpy(request.answer.data(), &before, 8);
  return IBV_WC_SUCCESS;
}

int Wire::deliver(Qp& qp, Request& request, Qp& peer, const std::vector<std::byte>& data) {
  auto& receives = receives_of(peer);
  const Receive receive = std::move(receives.front());
  receives.pop_front();
  ibv_wc wc{};
  wc.wr_id = receive.wr_id;
  wc.opcode = is_write(request.wr.opcode) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.qp_num = peer.qp_num;
  wc.src_qp = qp.qp_num;
  wc.slid = device_of(qp.context).lid;
  wc.byte_len = static_cast<std::uint32_t>(data.size());
  if (request.wr.opcode == IBV_WR_SEND_WITH_INV) {
    wc.wc_flags |= IBV_WC_WITH_INV;
    wc.invalidated_rkey = request.wr.invalidate_rkey;
  } else if (request.wr.opcode != IBV_WR_SEND) {
    wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.imm_data = request.wr.imm_data;
  }
  if (!is_write(request.wr.opcode)) {
    std::vector<std::byte> received = data;
    if (peer.qp_type == IBV_QPT_UD) {
      wc.wc_flags |= IBV_WC_GRH;
      wc.byte_len += kGrh;
      ibv_grh header{};
      header.version_tclass_flow = htonl(6U << 28U);
      header.sgid = device_of(qp.context).gid;
      header.dgid = device_of(peer.context).gid;
      const auto* bytes = reinterpret_cast<const std::byte*>(&header);
      received.insert(received.begin(), bytes, bytes + kGrh);
    }
    std::uint64_t room = 0;
    for (const ibv_sge& sge : receive.to) room += sge.length;
    if (room < received.size())
      wc.status = IBV_WC_LOC_LEN_ERR;
    else if (!scatter(peer, receive.to, received))
      wc.status = IBV_WC_LOC_PROT_ERR;
  }
  peer.late.push_back({wc, false, (request.wr.send_flags & IBV_SEND_SOLICITED) != 0, false});
  return wc.status == IBV_WC_SUCCESS ? IBV_WC_SUCCESS : at_requester(wc.status);
}

void Wire::execute_datagram(Qp& qp, Request& request) {
  std::vector<std::byte> data;
  if (!gather(qp, request, data)) return fail(qp, IBV_WC_LOC_PROT_ERR);
  executed(qp, request);
  Device* device = fabric.at(request.to.grh.dgid);
  if (device == nullptr) return;
  const auto found = device->qps.find(request.wr.wr.ud.remote_qpn);
  if (found == device->qps.end()) return;
  Qp& peer = *found->second;
  const bool receives = peer.attr.qp_state == IBV_QPS_RTR || peer.attr.qp_state == IBV_QPS_RTS;
  // A wrong Q_Key is dropped without a word (IBTA volume 1, 9.6.1.4.1).
  if (peer.qp_type != IBV_QPT_UD || !receives || peer.attr.qkey != request.wr.wr.ud.remote_qkey) return;
  if (!receives_of(peer).empty()) deliver(qp, request, peer, data);
}

bool Wire::gather(Qp& qp, Request& request, std::vector<std::byte>& data) {
  data = request.inlined;
  if ((request.wr.send_flags & IBV_SEND_INLINE) != 0) return true;
  for (const ibv_sge& sge : request.from) {
    const Mr* mr = find_mr(qp, sge.lkey);
    if (sge.length == 0) continue;
    if (mr == nullptr ||
        !mr->covers(sge.addr - reinterpret_cast<std::uintptr_t>(mr->addr) + mr->iova, sge.length))
      return false;
    const auto* from = reinterpret_cast<const std::byte*>(sge.addr);
    data.insert(data.end(), from, from + sge.length);
  }
  return true;
}

bool Wire::scatter(Qp& qp, const std::vector<ibv_sge>& to, const std::vector<std::byte>& data) {
  std::size_t done = 0;
  for (const ibv_sge& sge : to) {
    const std::size_t bytes = std::min<std::size_t>(sge.length, data.size() - done);
    if (bytes == 0) continue;
    const Mr* mr = find_mr(qp, sge.lkey);
    if (mr == nullptr || (mr->access & IBV_ACCESS_LOCAL_WRITE) == 0 ||
        !mr->covers(sge.addr - reinterpret_cast<std::uintptr_t>(mr->addr) + mr->iova, bytes))
      return false;
    std::memcpy(reinterpret_cast<std::byte*>(sge.addr), data.data() + done, bytes);
    done += bytes;
  }
  return done == data.size();
}

}  // namespace rdmove::shadow::fake
