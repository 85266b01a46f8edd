// Work requests with everything that they point to, for those that have to wait. Plain values, any thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmove::shadow {

class SendWork {
 public:
  /// A copy with the scatter list, or with the data if it is inline.
  explicit SendWork(const ibv_send_wr& wr);
  /// Points into this object, which has to outlive it.
  ibv_send_wr& request();
  [[nodiscard]] const ibv_send_wr& request() const { return wr_; }
  [[nodiscard]] std::vector<ibv_sge>& list() { return list_; }
  [[nodiscard]] const std::vector<ibv_sge>& list() const { return list_; }
  [[nodiscard]] const std::vector<std::byte>& inlined() const { return inlined_; }
  [[nodiscard]] bool is_inline() const { return (wr_.send_flags & IBV_SEND_INLINE) != 0; }

 private:
  ibv_send_wr wr_;
  std::vector<ibv_sge> list_;
  std::vector<std::byte> inlined_;
};

struct ReceiveWork {
  std::uint64_t wr_id = 0;
  std::vector<ibv_sge> list;
  static ReceiveWork of(const ibv_recv_wr& wr) {
    return {wr.wr_id, {wr.sg_list, wr.sg_list + (wr.num_sge > 0 ? wr.num_sge : 0)}};
  }
};

}  // namespace rdmove::shadow
