#include "shadowdev/device/tests/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "shadowdev/fakeverbs/testkit.hpp"

namespace rdmove::shadow::test {
namespace {

constexpr std::size_t kSlot = 640;  // the longest message has three packets
constexpr std::size_t kMostItems = 20;
constexpr unsigned kRing = 3;
constexpr std::size_t kPerPair = (2 * kMostItems + kRing + 1) * kSlot;
constexpr std::uint64_t kReceive = 1U << 16U;  // in wr_id

bool needs_receive(Op op) {
  return op == Op::Send || op == Op::SendImm || op == Op::WriteImm;
}

}  // namespace

Plan Plan::random(std::uint32_t seed) {
  std::mt19937 random(seed);
  Plan plan;
  plan.seed = seed;
  plan.pairs = 1 + random() % 3;
  plan.depth = 2 + random() % 6;
  for (unsigned end = 0; end < 2; ++end) {
    plan.shared[end] = random() % 3 == 0;
    plan.one_cq[end] = random() % 2 == 0;
  }
  for (unsigned pair = 0; pair < plan.pairs; ++pair) plan.flagless.push_back(random() % 4 == 0);
  for (auto& streams : plan.streams) {
    streams.resize(plan.pairs);
    for (unsigned pair = 0; pair < plan.pairs; ++pair) {
      const std::size_t items = random() % kMostItems;
      for (std::size_t i = 0; i < items; ++i) {
        Item item;
        item.op = static_cast<Op>(plan.flagless[pair] ? random() % 2 : random() % 7);
        const bool atomic = item.op == Op::Add || item.op == Op::Swap;
        item.length = atomic ? 8 : 1 + random() % 600;
        // Unsignalled tails as well, but a queue must not fill up with them.
        item.signalled = random() % 3 != 0 || (i + 1) % plan.depth == 0;
        item.inlined = item.op != Op::Read && !atomic && random() % 4 == 0;
        if (item.inlined) item.length = 1 + item.length % 64;
        item.slot = random() % kRing;
        streams[pair].receives += needs_receive(item.op) ? 1 : 0;
        streams[pair].items.push_back(item);
      }
    }
  }
  return plan;
}

Side::Side(Verbs& verbs, const std::string& device, const Plan& plan, unsigned end)
    : verbs_(verbs), plan_(plan), end_(end), memory_(plan.pairs * kPerPair) {
  context_ = verbs_.open(device);
  EXPECT_EQ(verbs_.gid(context_, 1, 0, &gid_), 0);
  pd_ = verbs_.alloc_pd(context_);
  mr_ = verbs_.reg_mr(
      pd_, memory_.data(), memory_.size(), address(0),
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  const int entries = static_cast<int>(2 * plan.depth * plan.pairs);
  send_cq_ = verbs_.create_cq(context_, entries, nullptr, nullptr, 0);
  recv_cq_ = plan.one_cq[end] ? send_cq_ : verbs_.create_cq(context_, entries, nullptr, nullptr, 0);
  if (plan.shared[end]) {
    ibv_srq_init_attr init{};
    init.attr = {plan.depth, 1, 0};
    srq_ = verbs_.create_srq(pd_, &init);
  }
  std::mt19937 content(plan.seed * 2 + end);
  for (unsigned pair = 0; pair < plan.pairs; ++pair) {
    for (std::size_t item = 0; item < kMostItems; ++item)
      for (std::size_t i = 0; i < kSlot; ++i)
        memory_[source(pair, item) + i] = static_cast<std::byte>(content());
    ibv_qp_init_attr init{};
    init.send_cq = send_cq_;
    init.recv_cq = recv_cq_;
    init.srq = srq_;
    init.cap = {plan.depth, srq_ == nullptr ? plan.depth : 0, 1, 1, 64};
    init.qp_type = IBV_QPT_RC;
    Queue queue;
    queue.qp = verbs_.create_qp(pd_, &init);
    EXPECT_NE(queue.qp, nullptr);
    queues.push_back(queue);
  }
}

Side::~Side() {
  for (Queue& queue : queues) EXPECT_EQ(verbs_.destroy_qp(queue.qp), 0);
  if (srq_ != nullptr) {
    EXPECT_EQ(verbs_.destroy_srq(srq_), 0);
  }
  EXPECT_EQ(verbs_.destroy_cq(send_cq_), 0);
  if (recv_cq_ != send_cq_) {
    EXPECT_EQ(verbs_.destroy_cq(recv_cq_), 0);
  }
  EXPECT_EQ(verbs_.dereg_mr(mr_), 0);
  EXPECT_EQ(verbs_.dealloc_pd(pd_), 0);
  EXPECT_EQ(verbs_.close(context_), 0);
}

void Side::connect(Side& a, Side& b) {
  a.other_ = &b;
  b.other_ = &a;
  for (unsigned pair = 0; pair < a.plan_.pairs; ++pair) {
    for (Side* side : {&a, &b}) {
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_INIT;
      attr.port_num = 1;
      if (!a.plan_.flagless[pair])
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      EXPECT_EQ(side->verbs_.modify_qp(side->queues[pair].qp, &attr,
                                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                0);
    }
    for (Side* side : {&a, &b}) {
      const Side& other = *side->other_;
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_RTR;
      attr.path_mtu = IBV_MTU_256;
      attr.dest_qp_num = other.queues[pair].qp->qp_num;
      attr.rq_psn = 0xFFFFFA + other.end_;
      attr.max_dest_rd_atomic = 1;
      attr.ah_attr = fake::End::towards(other.gid_);
      EXPECT_EQ(side->verbs_.modify_qp(side->queues[pair].qp, &attr,
                                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                0);
    }
    for (Side* side : {&a, &b}) {
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_RTS;
      attr.sq_psn = 0xFFFFFA + side->end_;
      attr.retry_cnt = attr.rnr_retry = 7;
      attr.max_rd_atomic = 1;
      EXPECT_EQ(side->verbs_.modify_qp(side->queues[pair].qp, &attr,
                                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                0);
    }
  }
}

void Side::act(std::mt19937& random) {
  const unsigned pair = random() % plan_.pairs;
  switch (random() % 4) {
    case 0:
      return post_send(pair);
    case 1:
      return post_receive(pair);
    default:
      return poll();
  }
}

void Side::post_send(unsigned pair) {
  Queue& queue = queues[pair];
  const auto& items = plan_.streams[end_][pair].items;
  if (failed || queue.sent == items.size() || queue.sent - queue.acked >= plan_.depth) return;
  const Item& item = items[queue.sent];
  ibv_sge sge{address(source(pair, queue.sent)), item.length, mr_->lkey};
  ibv_send_wr wr{};
  wr.wr_id = (std::uint64_t{pair} << 32U) | queue.sent;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  if (item.signalled) wr.send_flags |= IBV_SEND_SIGNALED;
  if (item.inlined) wr.send_flags |= IBV_SEND_INLINE;
  wr.wr.rdma = {other_->address(other_->ring_slot(pair, item.slot)), other_->mr_->rkey};
  switch (item.op) {
    case Op::Send:
      wr.opcode = IBV_WR_SEND;
      break;
    case Op::SendImm:
      wr.opcode = IBV_WR_SEND_WITH_IMM;
      wr.imm_data = static_cast<std::uint32_t>(queue.sent);
      break;
    case Op::Write:
      wr.opcode = IBV_WR_RDMA_WRITE;
      break;
    case Op::WriteImm:
      wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      wr.imm_data = static_cast<std::uint32_t>(queue.sent);
      break;
    case Op::Read:
      wr.opcode = IBV_WR_RDMA_READ;
      break;
    case Op::Add:
    case Op::Swap:
      wr.opcode = item.op == Op::Add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
      wr.wr.atomic = {other_->address(other_->counter(pair, item.slot)), item.op == Op::Add ? 3U : 0U, 7,
                      other_->mr_->rkey};
      break;
  }
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(queue.qp, &wr, &bad) == 0) ++queue.sent;  // else it is tried again
}

void Side::post_receive(unsigned pair) {
  if (failed) return;
  Queue& queue = queues[pair];
  std::size_t number = queue.posted;
  if (srq_ != nullptr) {
    // One pool for all pairs: which message takes which receive is a matter of the schedule.
    std::size_t all = 0;
    for (unsigned i = 0; i < plan_.pairs; ++i) all += needed(i);
    if (shared_posted == all || shared_posted - shared_seen >= plan_.depth) return;
    number = shared_posted;
  } else if (queue.posted == needed(pair) || queue.posted - queue.receives.size() >= plan_.depth) {
    return;
  }
  const unsigned home = srq_ != nullptr ? static_cast<unsigned>(number / kMostItems) : pair;
  ibv_sge sge{address(receive_slot(home, number % kMostItems)), kSlot, mr_->lkey};
  ibv_recv_wr wr{kReceive | (std::uint64_t{home} << 32U) | (number % kMostItems), nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  const int error = srq_ != nullptr ? ibv_post_srq_recv(srq_, &wr, &bad) : ibv_post_recv(queue.qp, &wr, &bad);
  if (error == 0) ++(srq_ != nullptr ? shared_posted : queue.posted);
}

void Side::poll() {
  ibv_wc wc[3];
  const int sends = ibv_poll_cq(send_cq_, 3, wc);
  for (int i = 0; i < sends; ++i) note(wc[i], true, send_cq_ == recv_cq_);
  if (send_cq_ == recv_cq_) return;
  const int receives = ibv_poll_cq(recv_cq_, 3, wc);
  for (int i = 0; i < receives; ++i) note(wc[i], false, true);
}

void Side::note(const ibv_wc& wc, bool may_be_send, bool may_be_receive) {
  const bool is_receive = (wc.wr_id & kReceive) != 0;
  EXPECT_TRUE(is_receive ? may_be_receive : may_be_send) << "in the other queue";
  if (wc.status != IBV_WC_SUCCESS) failed = true;
  const auto queue = std::find_if(queues.begin(), queues.end(),
                                  [&](const Queue& one) { return one.qp->qp_num == wc.qp_num; });
  ASSERT_NE(queue, queues.end()) << "of a QP that the program does not have: " << wc.qp_num;
  Seen seen;
  seen.wr_id = wc.wr_id;
  seen.status = wc.status;
  seen.opcode = wc.status == IBV_WC_SUCCESS ? wc.opcode : 0;
  if (!is_receive) {
    queue->acked = static_cast<std::uint32_t>(wc.wr_id) + 1;
    queue->sends.push_back(seen);
    return;
  }
  if (srq_ != nullptr) {
    EXPECT_TRUE(shared_taken.insert(wc.wr_id).second) << "a receive of the SRQ completed twice";
    ++shared_seen;
    seen.wr_id = 0;
  }
  if (wc.status == IBV_WC_SUCCESS) {
    seen.byte_len = wc.byte_len;
    seen.immediate = (wc.wc_flags & IBV_WC_WITH_IMM) != 0 ? wc.imm_data + 1 : 0;
    const auto home = static_cast<unsigned>(wc.wr_id >> 32U);
    const std::byte* from = &memory_[receive_slot(home, wc.wr_id & 0xFFFFU)];
    if (wc.opcode == IBV_WC_RECV)
      seen.content = std::hash<std::string_view>{}({reinterpret_cast<const char*>(from), wc.byte_len});
  }
  queue->receives.push_back(seen);
}

bool Side::complete() const {
  return missing().empty();
}

std::string Side::missing() const {
  std::string said;
  for (unsigned pair = 0; pair < plan_.pairs; ++pair) {
    const auto& items = plan_.streams[end_][pair].items;
    const auto signalled = static_cast<std::size_t>(
        std::count_if(items.begin(), items.end(), [](const Item& item) { return item.signalled; }));
    const Queue& queue = queues[pair];
    if (queue.sent == items.size() && queue.sends.size() == signalled &&
        queue.receives.size() == needed(pair))
      continue;
    said += "end " + std::to_string(end_) + " pair " + std::to_string(pair) + ": sent " +
            std::to_string(queue.sent) + "/" + std::to_string(items.size()) + ", completed " +
            std::to_string(queue.sends.size()) + "/" + std::to_string(signalled) + ", received " +
            std::to_string(queue.receives.size()) + "/" + std::to_string(needed(pair)) + "; ";
  }
  return said;
}

bool Side::is_as_after_some_of(const Side& sender, unsigned pair) const {
  const auto& items = plan_.streams[sender.end_][pair].items;
  const Queue& queue = sender.queues[pair];
  std::size_t certain = 0;
  for (const Seen& seen : queue.sends)
    if (seen.status == IBV_WC_SUCCESS) certain = static_cast<std::uint32_t>(seen.wr_id) + 1;
  const std::size_t begin = ring_slot(pair, 0);
  std::vector<std::byte> expected(kPerPair - 2 * kMostItems * kSlot);
  const auto same = [&] { return std::equal(expected.begin(), expected.end(), &memory_[begin]); };
  for (std::size_t done = 0;; ++done) {
    if (done >= certain && same()) return true;
    if (done == queue.sent) return false;
    const Item& item = items[done];
    if (item.op == Op::Write || item.op == Op::WriteImm)
      std::copy_n(&sender.memory_[source(pair, done)], item.length,
                  &expected[ring_slot(pair, item.slot) - begin]);
    if (item.op != Op::Add && item.op != Op::Swap) continue;
    std::byte* at = &expected[counter(pair, item.slot) - begin];
    std::uint64_t value = 0;
    std::memcpy(&value, at, 8);
    value = item.op == Op::Add ? value + 3 : (value == 0 ? 7 : value);
    std::memcpy(at, &value, 8);
  }
}

std::string Side::unanswered(unsigned pair, bool receives_too) const {
  const auto& items = plan_.streams[end_][pair].items;
  const Queue& queue = queues[pair];
  std::size_t next = 0;
  bool in_error = false;
  for (const Seen& seen : queue.sends) {
    const auto item = static_cast<std::uint32_t>(seen.wr_id);
    if (in_error && seen.status == IBV_WC_SUCCESS) return "a success after an error";
    in_error = in_error || seen.status != IBV_WC_SUCCESS;
    if (item < next) return "a send completed twice, or out of order";
    for (; next < item; ++next)
      if (items[next].signalled) return "no completion of send " + std::to_string(next);
    next = item + 1;
  }
  for (; next < queue.sent; ++next)
    if (items[next].signalled) return "no completion of send " + std::to_string(next);
  if (srq_ != nullptr) return {};
  for (std::size_t i = 1; i < queue.receives.size(); ++i)
    if (queue.receives[i].wr_id <= queue.receives[i - 1].wr_id)
      return "a receive completed twice, or out of order";
  if (receives_too && queue.receives.size() != queue.posted) return "a receive is missing";
  return {};
}

std::size_t Side::needed(unsigned pair) const {
  return plan_.streams[1 - end_][pair].receives;
}
std::size_t Side::source(unsigned pair, std::size_t item) const {
  return pair * kPerPair + item * kSlot;
}
std::size_t Side::receive_slot(unsigned pair, std::size_t number) const {
  return pair * kPerPair + (kMostItems + number) * kSlot;
}
std::size_t Side::ring_slot(unsigned pair, unsigned slot) const {
  return pair * kPerPair + (2 * kMostItems + slot) * kSlot;
}
std::size_t Side::counter(unsigned pair, unsigned slot) const {
  return pair * kPerPair + (2 * kMostItems + kRing) * kSlot + 8UL * slot;
}
std::uint64_t Side::address(std::size_t offset) const {
  return reinterpret_cast<std::uintptr_t>(memory_.data()) + offset;
}

}  // namespace rdmove::shadow::test
