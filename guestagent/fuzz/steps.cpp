#include "guestagent/fuzz/steps.hpp"

#include <algorithm>

namespace rdmove::fuzz {
namespace {

constexpr unsigned largest_number = 1'000'000;

Step word_in(std::string_view line) {
  Step step;
  const auto blank = line.find(' ');
  step.word = line.substr(0, blank);
  if (blank == std::string_view::npos) return step;
  for (const char c : line.substr(blank + 1)) {
    if (c < '0' || c > '9') break;
    step.number = std::min(largest_number, step.number * 10 + static_cast<unsigned>(c - '0'));
  }
  return step;
}

}  // namespace

std::vector<Step> steps_in(std::span<const std::uint8_t> input) {
  std::string_view left(reinterpret_cast<const char*>(input.data()), input.size());
  std::vector<Step> out;
  while (!left.empty()) {
    const auto line =
        left.substr(0, left.find('\n') == std::string_view::npos ? left.size() : left.find('\n') + 1);
    left.remove_prefix(line.size());
    if (line.front() == '!') {
      out.push_back(word_in(line.substr(1, line.ends_with('\n') ? line.size() - 2 : line.size() - 1)));
    } else if (!out.empty() && !out.back().bytes.empty()) {
      auto& before = out.back().bytes;  // they are neighbours in the input
      before = {before.data(), before.size() + line.size()};
    } else {
      out.push_back({line, {}, 0});
    }
  }
  return out;
}

std::vector<std::string_view> pieces_of(std::string_view bytes, std::size_t size) {
  std::vector<std::string_view> out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size())))
    out.push_back(bytes.substr(0, size));
  return out;
}

}  // namespace rdmove::fuzz
