// Programs that a lab test runs: to their end, or beside it. Output is kept whole; nothing is left running.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rdmove::lab {

struct Outcome {
  int status = -1;     ///< exit status; 128 + signal when killed
  std::string output;  ///< standard output and error, as they came
};

/// A running program. Its destructor kills it when it has not ended.
class Running {
 public:
  explicit Running(const std::vector<std::string>& words);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Fails the test and kills the program when `limit` passes.
  Outcome wait(std::chrono::seconds limit = std::chrono::seconds(120));
  bool ended();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string text_;
  int status_ = -1;
  bool reaped_ = false;
};

Outcome run(const std::vector<std::string>& words, std::chrono::seconds limit = std::chrono::seconds(120));

}  // namespace rdmove::lab
