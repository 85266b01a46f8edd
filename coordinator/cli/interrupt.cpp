#include "coordinator/cli/interrupt.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace rdmove::cli {
namespace {

// A signal handler has no other way to its object: an eventfd, of which 1 means a signal and 2^32 the end.
constexpr std::uint64_t kSignal = 1;
constexpr std::uint64_t kEnd = std::uint64_t{1} << 32U;
std::atomic<int> event_fd{-1};

void onSignal(int) {
  const int saved = errno;
  if (::write(event_fd, &kSignal, sizeof(kSignal)) < 0) _exit(128 + SIGINT);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> on_signal) {
  event_fd = ::eventfd(0, EFD_CLOEXEC);
  if (event_fd < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  waiter_ = std::thread([this, call = std::move(on_signal)] { wait(call); });
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the process
  ::sigaction(SIGINT, &action, &old_int_);
  ::sigaction(SIGTERM, &action, &old_term_);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
  if (::write(event_fd, &kEnd, sizeof(kEnd)) < 0) std::terminate();
  waiter_.join();
  ::close(event_fd.exchange(-1));
}

void Interrupt::wait(const std::function<void()>& on_signal) {
  std::uint64_t value = 0;
  while (value < kEnd) {
    if (::read(event_fd, &value, sizeof(value)) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (value % kEnd != 0 && !happened_.exchange(true)) on_signal();
  }
}

}  // namespace rdmove::cli
