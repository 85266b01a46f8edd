// Bytes written as hex in a test: "ff 00:1b" and the like; everything that is no digit is skipped.
#pragma once

#include <string_view>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent::test {

inline Bytes from_hex(std::string_view text) {
  Bytes out;
  int high = -1;
  for (const char c : text) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) continue;
    if (high >= 0) out.push_back(static_cast<std::uint8_t>(high * 16 + static_cast<int>(digit)));
    high = high >= 0 ? -1 : static_cast<int>(digit);
  }
  return out;
}

}  // namespace rdmove::agent::test
