// A file that another program appends to, and waiting for what it writes. One thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace rdmove::subnet {

class LogFile {
 public:
  /// The file need not be there yet; its folder must.
  explicit LogFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// How long it is now: what is written later comes after this.
  [[nodiscard]] std::size_t end() const;
  /// What was written after `from`.
  [[nodiscard]] std::string since(std::size_t from) const;
  /// The first line after `from` that has `text` in it. Throws std::runtime_error with the last lines when
  /// the limit passes.
  std::string wait_for(const std::string& text, std::size_t from, std::chrono::milliseconds limit) const;

 private:
  std::filesystem::path file_;
};

}  // namespace rdmove::subnet
