#include "process.hpp"

#include <gtest/gtest.h>

namespace rdmove::lab {

Outcome Running::wait(std::chrono::seconds limit) {
  Outcome outcome = child_.wait(limit);
  EXPECT_FALSE(outcome.late) << "no end after " << limit.count() << " s; said so far: " << outcome.output;
  return outcome;
}

Outcome run(const std::vector<std::string>& words, std::chrono::seconds limit) {
  return Running(words).wait(limit);
}

}  // namespace rdmove::lab
