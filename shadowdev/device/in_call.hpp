// Who is inside the physical device right now. A thread says so in a flag of its own with plain stores;
// whoever wants all of them out first turns the targets of all trampolines, then lets the kernel put a
// barrier into every running thread (membarrier(2), PRIVATE_EXPEDITED) and waits until each flag was seen
// down. So the data path pays no lock and no atomic operation. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rdmove::shadow {

struct ThreadFlag {
  std::atomic<std::uint32_t> depth{0};  ///< a signal handler may post as well: it goes up and down
};

#if defined(__GNUC__)
#define RDMOVE_TLS __thread __attribute__((tls_model("initial-exec")))
#else
#define RDMOVE_TLS thread_local
#endif
extern RDMOVE_TLS ThreadFlag* this_thread_flag;
ThreadFlag& register_this_thread();

class InCall {
 public:
  InCall() : flag_(this_thread_flag != nullptr ? *this_thread_flag : register_this_thread()) {
    flag_.depth.store(flag_.depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the membarrier is the other half
  }
  ~InCall() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    flag_.depth.store(flag_.depth.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  ThreadFlag& flag_;
};

/// The slow functions behind a trampoline take locks of their own: for their time the thread is out.
class OutOfCall {
 public:
  OutOfCall() : flag_(this_thread_flag) {
    if (flag_ != nullptr && flag_->depth.load(std::memory_order_relaxed) == 0) flag_ = nullptr;
    if (flag_ != nullptr) add(-1);
  }
  ~OutOfCall() {
    if (flag_ != nullptr) add(1);
  }
  OutOfCall(const OutOfCall&) = delete;
  OutOfCall& operator=(const OutOfCall&) = delete;

 private:
  void add(int by) {
    flag_->depth.store(flag_->depth.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(by),
                       std::memory_order_release);
  }
  ThreadFlag* flag_;
};

/// After the targets were turned: true once every thread has been seen outside, false at the deadline (the
/// thread that stays in is the reason for a holdout). Must not be called from inside.
bool quiesce(std::chrono::steady_clock::time_point deadline);

}  // namespace rdmove::shadow
