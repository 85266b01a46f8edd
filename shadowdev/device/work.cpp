#include "shadowdev/device/work.hpp"

namespace rdmove::shadow {

SendWork::SendWork(const ibv_send_wr& wr) : wr_(wr) {
  wr_.next = nullptr;
  if (!is_inline()) {
    if (wr.num_sge > 0) list_.assign(wr.sg_list, wr.sg_list + wr.num_sge);
    return;
  }
  for (int i = 0; i < wr.num_sge; ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(wr.sg_list[i].addr);
    inlined_.insert(inlined_.end(), from, from + wr.sg_list[i].length);
  }
}

ibv_send_wr& SendWork::request() {
  if (is_inline())
    list_ = {ibv_sge{reinterpret_cast<std::uintptr_t>(inlined_.data()),
                     static_cast<std::uint32_t>(inlined_.size()), 0}};
  wr_.sg_list = list_.data();
  wr_.num_sge = static_cast<int>(list_.size());
  return wr_;
}

}  // namespace rdmove::shadow
