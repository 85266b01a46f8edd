#include "coordinator/journal/state_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace rdmove::journal {
namespace {

std::string holder(int fd) {
  std::array<char, 16> text{};
  const ssize_t got = pread(fd, text.data(), text.size() - 1, 0);
  const std::string pid(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return pid.substr(0, pid.find_first_not_of("0123456789"));
}

}  // namespace

Result<StateLock> StateLock::take(const std::filesystem::path& lock_file) {
  const std::string attempted = fmt::format("lock {}", lock_file.string());
  StateLock lock(open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.fd_ < 0) {
    return failure(
        ErrorCode::kUnavailable, attempted, std::strerror(errno),
        fmt::format("Make {} writable for rdmoved, or set daemon.state_dir to a directory that is.",
                    lock_file.parent_path().string()));
  }
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    const std::string pid = holder(lock.fd_);
    return failure(ErrorCode::kConflict, attempted,
                   fmt::format("another rdmoved{} has it", pid.empty() ? "" : " (pid " + pid + ")"),
                   "Stop that one, or give this one its own daemon.state_dir.");
  }
  // For people only: that it cannot be written (a full disk) takes nothing from the lock.
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock.fd_, 0) == 0) [[maybe_unused]]
    const ssize_t said = pwrite(lock.fd_, pid.data(), pid.size(), 0);
  return lock;
}

StateLock::StateLock(StateLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StateLock& StateLock::operator=(StateLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

StateLock::~StateLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace rdmove::journal
