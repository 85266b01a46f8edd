#include "shadowdev/device/in_call.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rdmove::shadow {

RDMOVE_TLS ThreadFlag* this_thread_flag = nullptr;

namespace {

struct Registry {
  std::mutex lock;
  std::vector<std::shared_ptr<ThreadFlag>> threads;
};

Registry& registry() {
  static auto* all = new Registry();  // threads may end after static destructors have run
  return *all;
}

/// Takes the flag out of the registry when its thread ends.
struct Owner {
  std::shared_ptr<ThreadFlag> flag;
  ~Owner() {
    this_thread_flag = nullptr;
    if (!flag) return;
    const std::lock_guard hold(registry().lock);
    std::erase(registry().threads, flag);
  }
};

bool barrier_in_all_threads() {
  static const bool registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

ThreadFlag& register_this_thread() {
  thread_local Owner owner;
  owner.flag = std::make_shared<ThreadFlag>();
  const std::lock_guard hold(registry().lock);
  registry().threads.push_back(owner.flag);
  this_thread_flag = owner.flag.get();
  return *owner.flag;
}

bool quiesce(std::chrono::steady_clock::time_point deadline) {
  if (!barrier_in_all_threads()) return false;
  std::vector<std::shared_ptr<ThreadFlag>> threads;
  {
    const std::lock_guard hold(registry().lock);
    threads = registry().threads;
  }
  for (const auto& thread : threads) {
    while (thread->depth.load(std::memory_order_acquire) != 0) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

}  // namespace rdmove::shadow
