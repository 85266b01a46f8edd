// Programs that a lab test runs: to their end, or beside it. One that does not end in its time fails the
// test.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "migration-tests/harness/process.hpp"

namespace rdmove::lab {

using Outcome = harness::Ended;

class Running {
 public:
  explicit Running(const std::vector<std::string>& words) : child_(words) {}

  Outcome wait(std::chrono::seconds limit = std::chrono::seconds(120));
  bool ended() { return child_.ended(); }

 private:
  harness::Child child_;
};

Outcome run(const std::vector<std::string>& words, std::chrono::seconds limit = std::chrono::seconds(120));

}  // namespace rdmove::lab
