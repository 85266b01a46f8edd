#include "guestagent/failover/connection/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rdmove::failover::conn {

Mailbox::~Mailbox() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Mailbox::open() {
  fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd_ < 0) return fail(ErrorCode::System, std::string("eventfd: ") + std::strerror(errno));
  return {};
}

void Mailbox::post(std::function<void()> work) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = work_.empty();
    work_.push_back(std::move(work));
  }
  if (first) wake();
}

void Mailbox::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);  // full means awake already
}

void Mailbox::run_all() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto size = read(fd_, &count, sizeof count);
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(work_);
  }
  for (auto& one : work) std::exchange(one, nullptr)();
}

}  // namespace rdmove::failover::conn
