// The one thread of the process on which devices are looked for. Debian's rdma-core 44 sorts devices by their
// addresses as int: those that two threads' heaps have given out are far enough apart to be sorted wrongly;
// librdmacm then drops devices that are there, and when none is left, deadlocks at the next rdma_create_id.
// Begun with the first look; ends with its owner.
#pragma once

#include <functional>
#include <memory>

namespace rdmove::failover::conn {

class LookingThread {
 public:
  LookingThread();
  ~LookingThread();
  LookingThread(const LookingThread&) = delete;
  LookingThread& operator=(const LookingThread&) = delete;

  /// Runs it there and waits. Any other thread. Without threads (the system refuses one), here.
  void run(const std::function<void()>& look);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rdmove::failover::conn
