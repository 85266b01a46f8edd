// How many receives are left in an SRQ, which nobody flushes: two QPs of our own, the second on that SRQ; the
// first sends empty messages to it until there is no receive. They come out in order, so the number is
// enough. In rounds like the mover, under the control lock.
#pragma once

#include "shadowdev/device/engine.hpp"

namespace rdmove::shadow {

class Vacuum {
 public:
  explicit Vacuum(VirtualSrq& of) : srq(&of) {}
  /// 0: `taken` is the number; EAGAIN: more rounds; else an errno, and it can be tried again.
  int round(Engine& engine);
  /// Gives back what was made, also when it did not end.
  int clean(Engine& engine);

  VirtualSrq* srq;
  std::size_t taken = 0;

 private:
  int set_up(Engine& engine);
  int connect(Engine& engine, ibv_qp* qp, const ibv_qp* to);
  void count();

  ibv_cq* cq_ = nullptr;
  ibv_qp* sender_ = nullptr;
  ibv_qp* taker_ = nullptr;
  bool ready_ = false;
  bool done_ = false;
  bool empty_ = false;  ///< the sender was told that there is no receive
  std::size_t sent_ = 0;
  std::size_t ended_ = 0;
  std::size_t succeeded_ = 0;
};

}  // namespace rdmove::shadow
