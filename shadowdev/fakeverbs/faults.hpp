// Which calls of the provider in memory fail. Every call, control or data path, asks strike() once; so "the
// n-th call from now fails" walks through all places of a program one by one. Under the fabric's lock.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

namespace rdmove::shadow::fake {

class Faults {
 public:
  /// The call after `calls` more calls fails with this errno, once.
  void fail_after(std::uint64_t calls, int error = EIO) {
    at_ = calls_ + calls;
    error_ = error;
  }
  void none() { at_.reset(); }
  /// 0, or the error with which this call has to fail.
  int strike() {
    if (at_ != calls_++) return 0;
    at_.reset();
    ++struck_;
    return error_;
  }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t struck() const { return struck_; }

 private:
  std::uint64_t calls_ = 0;
  std::uint64_t struck_ = 0;
  std::optional<std::uint64_t> at_;
  int error_ = EIO;
};

}  // namespace rdmove::shadow::fake
