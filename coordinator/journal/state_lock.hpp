// One rdmoved per journal: an flock on a file beside it, held as long as this object lives and given up by
// the kernel when the process ends in any way. The file stays; its text is the holder's pid, for people.
#pragma once

#include <filesystem>

#include "coordinator/base/result.hpp"

namespace rdmove::journal {

class StateLock {
 public:
  /// kConflict names the holder's pid.
  static Result<StateLock> take(const std::filesystem::path& lock_file);

  StateLock(StateLock&& other) noexcept;
  StateLock& operator=(StateLock&& other) noexcept;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;
  ~StateLock();

 private:
  explicit StateLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace rdmove::journal
