// What a small verbs program has at one end of a connection, made through any Verbs: for tests on the fake
// itself and on the shadow above it. Aborts where a call fails that the test did not ask to fail.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "shadowdev/verbs/verbs.hpp"

namespace rdmove::shadow::fake {

struct EndOptions {
  ibv_qp_type type = IBV_QPT_RC;
  bool srq = false;
  bool sig_all = false;
  unsigned depth = 16;
  unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  std::uint8_t rnr_retry = 7;
  bool channel = false;
};

inline constexpr std::uint32_t kQkey = 0x1234;

class End {
 public:
  using Options = EndOptions;

  End(Verbs& calls, std::string_view device, Options given = {})
      : verbs(calls), options(given), memory(4096) {
    context = verbs.open(device);
    EXPECT_NE(context, nullptr);
    EXPECT_EQ(verbs.gid(context, 1, 0, &gid), 0);
    pd = verbs.alloc_pd(context);
    mr = verbs.reg_mr(
        pd, memory.data(), memory.size(), reinterpret_cast<std::uintptr_t>(memory.data()),
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    if (options.channel) channel = verbs.create_channel(context);
    cq = verbs.create_cq(context, static_cast<int>(2 * options.depth), this, channel, 0);
    if (options.srq) {
      ibv_srq_init_attr init{};
      init.attr = {options.depth, 2, 0};
      srq = verbs.create_srq(pd, &init);
    }
    qp = make_qp();
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() {
    if (qp != nullptr) {
      EXPECT_EQ(verbs.destroy_qp(qp), 0);
    }
    if (srq != nullptr) {
      EXPECT_EQ(verbs.destroy_srq(srq), 0);
    }
    EXPECT_EQ(verbs.destroy_cq(cq), 0);
    if (channel != nullptr) {
      EXPECT_EQ(verbs.destroy_channel(channel), 0);
    }
    EXPECT_EQ(verbs.dereg_mr(mr), 0);
    EXPECT_EQ(verbs.dealloc_pd(pd), 0);
    EXPECT_EQ(verbs.close(context), 0);
  }

  ibv_qp* make_qp() {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.srq = srq;
    init.cap = {options.depth, options.srq ? 0 : options.depth, 2, 2, 64};
    init.qp_type = options.type;
    init.sq_sig_all = options.sig_all ? 1 : 0;
    init.qp_context = this;
    return verbs.create_qp(pd, &init);
  }
  void to_init(ibv_qp* which) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = options.access;
    attr.qkey = kQkey;
    const int last = options.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    EXPECT_EQ(verbs.modify_qp(which, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last), 0);
  }
  void to_rtr(ibv_qp* which, const ibv_gid& peer, std::uint32_t number, std::uint32_t psn) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_256;
    attr.dest_qp_num = number;
    attr.rq_psn = psn;
    attr.max_dest_rd_atomic = 1;
    attr.ah_attr = towards(peer);
    int mask = IBV_QP_STATE;
    if (options.type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (options.type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    EXPECT_EQ(verbs.modify_qp(which, &attr, mask), 0);
  }
  void to_rts(ibv_qp* which, std::uint32_t psn) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = psn;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = options.rnr_retry;
    attr.max_rd_atomic = 1;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (options.type == IBV_QPT_RC)
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    EXPECT_EQ(verbs.modify_qp(which, &attr, mask), 0);
  }
  static ibv_ah_attr towards(const ibv_gid& peer) {
    ibv_ah_attr ah{};
    ah.is_global = 1;
    ah.grh.dgid = peer;
    ah.grh.hop_limit = 1;
    ah.port_num = 1;
    return ah;
  }
  static void connect(End& a, End& b) {
    a.to_init(a.qp);
    b.to_init(b.qp);
    a.to_rtr(a.qp, b.gid, b.qp->qp_num, 0xFFFFF0);
    b.to_rtr(b.qp, a.gid, a.qp->qp_num, 100);
    a.to_rts(a.qp, 100);
    b.to_rts(b.qp, 0xFFFFF0);
  }

  [[nodiscard]] ibv_sge at(std::size_t offset, std::uint32_t length) const {
    return {reinterpret_cast<std::uintptr_t>(memory.data()) + offset, length, mr->lkey};
  }
  int receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length) {
    ibv_sge sge = at(offset, length);
    ibv_recv_wr wr{wr_id, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    return srq != nullptr ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
  }
  int send(ibv_wr_opcode opcode, std::uint64_t wr_id, std::size_t offset, std::uint32_t length,
           unsigned flags, const End* remote = nullptr, std::size_t remote_offset = 0) {
    ibv_sge sge = at(offset, length);
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = flags;
    if (remote != nullptr) {
      wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(remote->memory.data()) + remote_offset;
      wr.wr.rdma.rkey = remote->mr->rkey;
    }
    return post(wr);
  }
  int post(ibv_send_wr& wr) const {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
  }
  std::vector<ibv_wc> poll() const {
    std::vector<ibv_wc> all(256);
    const int got = ibv_poll_cq(cq, static_cast<int>(all.size()), all.data());
    EXPECT_GE(got, 0);
    all.resize(static_cast<std::size_t>(std::max(got, 0)));
    return all;
  }
  char* text(std::size_t offset) { return reinterpret_cast<char*>(memory.data()) + offset; }

  Verbs& verbs;
  Options options;
  std::vector<std::byte> memory;
  ibv_gid gid{};
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
};

}  // namespace rdmove::shadow::fake
