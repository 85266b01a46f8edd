// Work for the loop from other threads. Owned by the loop; post() and wake() from any thread, the rest on the
// loop's.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "rdmove/error.hpp"

namespace rdmove::failover::conn {

class Mailbox {
 public:
  Mailbox() = default;
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  Result<void> open();
  [[nodiscard]] int fd() const { return fd_; }

  void post(std::function<void()> work);
  void wake() const;  ///< signal-safe
  void run_all();     ///< what is posted meanwhile runs the next time

 private:
  int fd_ = -1;
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
};

}  // namespace rdmove::failover::conn
