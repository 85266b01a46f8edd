// A text input, for targets that read lines: a line that begins with '!' says what else happens ("!tick
// 200"), all others are sent as they are, with their '\n'. So a kept input can be read, and written by hand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmove::fuzz {

struct Step {
  std::string_view bytes;  // to be sent; empty if it is a word
  std::string_view word;   // without the '!'
  unsigned number = 0;     // after the word, at most 1,000,000
};

/// They point into `input`.
std::vector<Step> steps_in(std::span<const std::uint8_t> input);

/// `bytes` in pieces of at most `size`.
std::vector<std::string_view> pieces_of(std::string_view bytes, std::size_t size);

}  // namespace rdmove::fuzz
