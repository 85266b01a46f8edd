// The input that runs now, in a file: after a crash it is there to run again.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "guestagent/fuzz/mutator.hpp"

namespace rdmove::fuzz {

class CurrentInput {
 public:
  /// In the working directory; removed at the end, unless there was a crash or keep().
  explicit CurrentInput(const std::string& name)
      : path_(std::filesystem::current_path() / (name + "-" + std::to_string(::getpid()))),
        file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (file_ < 0) throw std::runtime_error("cannot write " + path_.string());
  }
  ~CurrentInput() {
    ::close(file_);
    if (!is_kept_) ::unlink(path_.c_str());
  }
  CurrentInput(const CurrentInput&) = delete;
  CurrentInput& operator=(const CurrentInput&) = delete;

  void is(const Input& input) const {
    const auto size = static_cast<off_t>(input.size());
    if (::ftruncate(file_, size) != 0 || ::pwrite(file_, input.data(), input.size(), 0) != size)
      throw std::runtime_error("cannot write " + path_.string());
  }
  /// Where it stays. No other may follow.
  const std::string& keep() {
    is_kept_ = true;
    return path_.native();
  }

 private:
  const std::filesystem::path path_;
  const int file_;
  bool is_kept_ = false;
};

}  // namespace rdmove::fuzz
