// Cuts a byte stream into lines. A line that is too long is dropped whole and counted; the next '\n' starts
// afresh. Owned by whoever reads one stream; one thread. The page: docs/agent-protocol.md, "Framing".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {

class LineSplitter {
 public:
  using OnLine = std::function<void(std::string_view line)>;

  explicit LineSplitter(std::size_t max_line = limits::line_bytes) : max_line_(max_line) {}

  /// Calls on_line for every line that these bytes complete, without its '\n' and a '\r' before it; empty
  /// lines are silently skipped. A line is valid only during the call. on_line may call reset(): the rest is
  /// then dropped.
  void push(std::string_view bytes, const OnLine& on_line);

  /// The stream was reopened: forgets what is half read.
  void reset();

  [[nodiscard]] std::uint64_t dropped_lines() const { return dropped_; }
  [[nodiscard]] std::size_t pending_bytes() const { return pending_.size(); }

 private:
  void keep(std::string_view part);

  std::size_t max_line_;
  std::string pending_;
  bool overlong_ = false;
  std::uint64_t dropped_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace rdmove::protocol
