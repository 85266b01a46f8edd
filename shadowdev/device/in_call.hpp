// Who is inside the physical device right now. A thread says so in a flag of its own with plain stores;
// whoever wants all of them out first turns the targets of all trampolines, then lets the kernel put a
// barrier into every running thread (membarrier(2), PRIVATE_EXPEDITED) and waits until each flag was seen
// down. So the data path pays no lock and no atomic operation. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace rdmove::shadow {

struct ThreadFlag {
  std::uint32_t depth;  ///< a signal handler may post as well: it goes up and down
  bool known;           ///< to quiesce()
};

// Initial-exec: one instruction reaches it. GCC's __thread has no wrapper function around it.
extern __thread ThreadFlag this_thread_flag __attribute__((tls_model("initial-exec")));
void register_this_thread();

/// In one instruction, so that a signal handler in between finds it whole.
inline void change_depth(std::int32_t by) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  asm volatile("addl %1, %0" : "+m"(this_thread_flag.depth) : "ir"(by) : "memory", "cc");
#else
  __atomic_store_n(&this_thread_flag.depth, this_thread_flag.depth + static_cast<std::uint32_t>(by),
                   __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // the membarrier is the other half
#endif
}

class InCall {
 public:
  InCall() {
    if (__builtin_expect(!this_thread_flag.known, 0)) register_this_thread();
    change_depth(1);
  }
  ~InCall() { change_depth(-1); }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
};

/// The slow functions behind a trampoline take locks of their own: for their time the thread is out.
class OutOfCall {
 public:
  OutOfCall() : was_in_(this_thread_flag.depth != 0) {
    if (was_in_) change_depth(-1);
  }
  ~OutOfCall() {
    if (was_in_) change_depth(1);
  }
  OutOfCall(const OutOfCall&) = delete;
  OutOfCall& operator=(const OutOfCall&) = delete;

 private:
  bool was_in_;
};

/// After the targets were turned: true once every thread has been seen outside, false at the deadline (the
/// thread that stays in is the reason for a holdout). Must not be called from inside.
bool quiesce(std::chrono::steady_clock::time_point deadline);

}  // namespace rdmove::shadow
