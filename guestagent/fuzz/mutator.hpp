// Makes new inputs of kept ones where no fuzzer is at hand: bytes changed, put in, taken out; parts and lines
// repeated, moved, taken from another input. The same seed and the same inputs give the same sequence.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace rdmove::fuzz {

using Input = std::vector<std::uint8_t>;

class Mutator {
 public:
  static constexpr std::size_t longest = 4096;

  /// `kept` must not be empty, and outlive it.
  Mutator(const std::vector<Input>& kept, std::uint32_t seed) : kept_(kept), random_(seed) {}

  Input next();

 private:
  struct Part {
    std::size_t at = 0;
    std::size_t size = 0;
  };
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const Input& any() { return kept_[below(kept_.size())]; }
  Part part_of(const Input& input);
  Part line_of(const Input& input);
  void change(Input& input);
  static void insert(Input& input, std::size_t at, const Input& from, Part part);

  const std::vector<Input>& kept_;
  std::mt19937 random_;  // the standard says what it gives, so a seed means the same everywhere
};

}  // namespace rdmove::fuzz
