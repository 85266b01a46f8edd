// Two connected queue pairs without a device: verbs objects whose operations copy from the sender's memory
// into the receive that is posted on the other side, as a device would. For benchmarks: what is left is the
// program's own cost. ibv_post_send(), ibv_post_recv() and ibv_poll_cq() work on them as on any other.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmove::failover::channel::bench {

class MemoryPair {
 public:
  explicit MemoryPair(std::uint32_t depth);
  MemoryPair(const MemoryPair&) = delete;
  MemoryPair& operator=(const MemoryPair&) = delete;

  [[nodiscard]] ibv_qp* queue_pair(int side) { return &ends_[static_cast<std::size_t>(side)].qp; }
  [[nodiscard]] ibv_cq* completions(int side) { return &ends_[static_cast<std::size_t>(side)].cq; }

 private:
  template <class T>
  class Ring {
   public:
    explicit Ring(std::uint32_t size) : items_(size), mask_(size - 1) {}
    bool push(const T& item) {
      if (tail_ - head_ > mask_) return false;
      items_[tail_++ & mask_] = item;
      return true;
    }
    bool pop(T& item) {
      if (head_ == tail_) return false;
      item = items_[head_++ & mask_];
      return true;
    }

   private:
    std::vector<T> items_;
    std::uint32_t mask_;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
  };
  struct Receive {
    std::uint64_t wr_id;
    ibv_sge part;
  };
  struct End {
    explicit End(std::uint32_t depth) : receives(depth), completed(2 * depth) {}
    ibv_context context{};
    ibv_qp qp{};
    ibv_cq cq{};
    End* other = nullptr;
    Ring<Receive> receives;
    Ring<ibv_wc> completed;
  };

  static int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
  static int post_receive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
  static int poll(ibv_cq* cq, int count, ibv_wc* completions);

  std::array<End, 2> ends_;
};

}  // namespace rdmove::failover::channel::bench
