// A file descriptor that is closed with its owner. Any thread, one at a time.
#pragma once

#include <unistd.h>

#include <utility>

namespace rdmove {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// It is the caller's from here on.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace rdmove
