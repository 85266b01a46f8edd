#include "shadowdev/device/in_call.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace rdmove::shadow {

__thread ThreadFlag this_thread_flag = {0, false};

namespace {

struct Registry {
  std::mutex lock;
  std::vector<ThreadFlag*> threads;  ///< a flag is read under the lock, so its thread cannot end meanwhile
};

Registry& registry() {
  static auto* all = new Registry();  // threads may end after static destructors have run
  return *all;
}

/// Takes the flag out of the registry when its thread ends.
struct Owner {
  ThreadFlag* flag = nullptr;
  ~Owner() {
    const std::lock_guard hold(registry().lock);
    std::erase(registry().threads, flag);
    if (flag != nullptr) flag->known = false;
  }
};

bool barrier_in_all_threads() {
  static const bool registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/// Drops from `inside` who has been seen outside, or has ended.
void look(std::vector<ThreadFlag*>& inside) {
  const std::lock_guard hold(registry().lock);
  const auto& alive = registry().threads;
  std::erase_if(inside, [&](ThreadFlag* flag) {
    return std::find(alive.begin(), alive.end(), flag) == alive.end() ||
           __atomic_load_n(&flag->depth, __ATOMIC_ACQUIRE) == 0;
  });
}

}  // namespace

void register_this_thread() {
  thread_local Owner owner;
  owner.flag = &this_thread_flag;
  const std::lock_guard hold(registry().lock);
  registry().threads.push_back(owner.flag);
  this_thread_flag.known = true;
}

bool quiesce(std::chrono::steady_clock::time_point deadline) {
  if (!barrier_in_all_threads()) return false;
  std::vector<ThreadFlag*> inside;
  {
    const std::lock_guard hold(registry().lock);
    inside = registry().threads;
  }
  for (look(inside); !inside.empty(); look(inside)) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace rdmove::shadow
