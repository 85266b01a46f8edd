// One epoll descriptor that holds all others. Owned by the loop; its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "rdmove/error.hpp"

namespace rdmove::failover::conn {

class Poller {
 public:
  using Ready = std::function<void()>;
  enum class Watch : std::uint64_t { none = 0 };

  Poller() = default;
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  Result<void> open();
  [[nodiscard]] int fd() const { return fd_; }

  /// `ready` is called while `file` is readable. A negative file is watched by nobody: Watch::none.
  [[nodiscard]] Watch add(int file, Ready ready);
  void remove(Watch& watch);  ///< before the file is closed; also inside of `ready`

  /// Calls `ready` of all that are, once; waits for `timeout_ms` if none is (-1: for ever).
  void dispatch(int timeout_ms);

 private:
  struct Entry {
    int file;
    std::shared_ptr<Ready> ready;
  };
  int fd_ = -1;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace rdmove::failover::conn
