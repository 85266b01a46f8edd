// Programs that the harness and the lab's tests run: to their end, or beside it, line by line. Output is kept
// whole; nothing is left running. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rdmove::harness {

using Words = std::vector<std::string>;

struct Ended {
  int status = -1;     ///< exit status; 128 + signal when killed
  std::string output;  ///< standard output and error, as they came
  bool late = false;   ///< killed, since it had not ended in its time

  [[nodiscard]] bool ok() const { return status == 0; }
};

/// A running program. Its destructor kills it when it has not ended.
class Child {
 public:
  explicit Child(const Words& words);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Until it has ended: what it left running may keep its output open for longer.
  Ended wait(std::chrono::milliseconds limit);
  bool ended();
  void signal(int number) const;
  /// Whole lines that came since the last call. Never waits.
  std::vector<std::string> lines();
  /// Becomes readable with its output.
  [[nodiscard]] int descriptor() const { return output_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// After ended().
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool readSome();

  pid_t pid_ = -1;
  int output_ = -1;
  std::string text_;
  std::size_t told_ = 0;
  int status_ = -1;
  bool reaped_ = false;
};

Ended run(const Words& words, std::chrono::milliseconds limit);

}  // namespace rdmove::harness
