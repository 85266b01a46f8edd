// A binary input, eaten from the front: for targets whose bytes say what to do next. Noughts at its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmove::fuzz {

class Script {
 public:
  explicit Script(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_over() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return first;
  }
  /// At most `count`, fewer at the end.
  std::span<const std::uint8_t> some(std::size_t count) {
    const auto part = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(part.size());
    return part;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace rdmove::fuzz
