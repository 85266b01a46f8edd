// What a fuzz target is: one function that takes whatever bytes there are and throws when a rule does not
// hold. libFuzzer calls it (fuzz_main.cpp), and so does a test, with the kept corpus and mutations of it
// (corpus_test.cpp). One thread. How to run both: docs/testing.md.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

namespace rdmove::fuzz {

/// A rule that does not hold. Nobody catches it but the test, which keeps the input.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* rule) {
  if (!holds) throw Broken(rule);
}

/// The target. Leaves nothing behind that the next run could notice.
void run(std::span<const std::uint8_t> input);

}  // namespace rdmove::fuzz
