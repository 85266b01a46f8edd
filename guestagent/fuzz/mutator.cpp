#include "guestagent/fuzz/mutator.hpp"

#include <algorithm>
#include <array>

namespace rdmove::fuzz {
namespace {

constexpr std::array<std::uint8_t, 12> telling{0, 1, 2, 0x7f, 0x80, 0xff, '\n', '"', '{', '}', '!', '9'};

auto place(Input& input, std::size_t at) {
  return input.begin() + static_cast<std::ptrdiff_t>(at);
}

}  // namespace

Input Mutator::next() {
  Input input = any();
  for (auto changes = 1 + below(6); changes > 0; --changes) change(input);
  if (input.size() > longest) input.resize(longest);
  return input;
}

// Most are short; some are long.
Mutator::Part Mutator::part_of(const Input& input) {
  if (input.empty()) return {};
  const auto at = below(input.size());
  const auto most = std::min<std::size_t>(input.size() - at, below(4) == 0 ? 256 : 12);
  return {at, 1 + below(most)};
}

Mutator::Part Mutator::line_of(const Input& input) {
  if (input.empty()) return {};
  const auto middle = input.begin() + static_cast<std::ptrdiff_t>(below(input.size()));
  const auto before = std::find(std::make_reverse_iterator(middle), input.rend(), '\n').base();
  auto after = std::find(middle, input.end(), '\n');
  if (after != input.end()) ++after;
  return {static_cast<std::size_t>(before - input.begin()), static_cast<std::size_t>(after - before)};
}

void Mutator::insert(Input& input, std::size_t at, const Input& from, Part part) {
  const Input copy(from.begin() + static_cast<std::ptrdiff_t>(part.at),
                   from.begin() + static_cast<std::ptrdiff_t>(part.at + part.size));
  input.insert(place(input, at), copy.begin(), copy.end());
}

void Mutator::change(Input& input) {
  const auto at = below(input.size() + 1);
  const bool has_this = at < input.size();
  switch (below(9)) {
    case 0:
      if (has_this) input[at] ^= static_cast<std::uint8_t>(1U << below(8));
      return;
    case 1:
      if (has_this) input[at] = telling[below(telling.size())];
      return;
    case 2:
      input.insert(place(input, at), static_cast<std::uint8_t>(random_()));
      return;
    case 3: {
      const auto part = part_of(input);
      input.erase(place(input, part.at), place(input, part.at + part.size));
      return;
    }
    case 4:
      return insert(input, at, input, part_of(input));
    case 5: {
      const Input& other = any();
      return insert(input, at, other, part_of(other));
    }
    case 6: {
      const auto line = line_of(input);
      input.erase(place(input, line.at), place(input, line.at + line.size));
      return;
    }
    case 7: {
      const Input& other = any();
      return insert(input, line_of(input).at, other, line_of(other));
    }
    default:
      if (has_this) input[at] = static_cast<std::uint8_t>(random_());
      return;
  }
}

}  // namespace rdmove::fuzz
