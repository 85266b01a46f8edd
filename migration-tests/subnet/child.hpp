// A program that a test runs beside itself: its standard input and output are ours. It ends with the object,
// and with the test program whatever happens to that. Waits end by what the program does. One thread, the one
// that made it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmove::subnet {

struct ChildOptions {
  std::vector<std::string> words{};        ///< the program, found by PATH, and its arguments
  std::vector<std::string> environment{};  ///< "NAME=value", on top of ours
  std::filesystem::path folder{};          ///< where it runs
  std::filesystem::path errors{};          ///< where its standard error goes; with its output if empty
  bool is_output_kept = true;              ///< else its output goes where its errors go, and is not read
};

class Child {
 public:
  /// Throws std::runtime_error if it cannot be started.
  explicit Child(const ChildOptions& options);
  /// Ends it: SIGTERM, and SIGKILL when that does not help within 5 s.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void write(const std::string& text);
  void close_input();
  /// All output since the last call, up to and with `text`. Throws std::runtime_error with what came instead
  /// when it has ended or the limit passes.
  std::string read_until(const std::string& text, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// The rest of the output, when it has ended by itself. Throws when the limit passes.
  std::string read_to_end(std::chrono::milliseconds limit = std::chrono::seconds(60));
  /// Exit status, 128 + signal when killed. After read_to_end() or stop().
  [[nodiscard]] int status() const { return status_; }
  void stop();
  [[nodiscard]] bool has_ended();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  bool wait(std::chrono::milliseconds limit);
  bool fill(std::chrono::steady_clock::time_point deadline);

  std::string name_;
  pid_t pid_ = -1;
  int process_ = -1;  // a pidfd
  int input_ = -1;
  int output_ = -1;
  std::string unread_;
  int status_ = -1;
  bool is_reaped_ = false;
};

}  // namespace rdmove::subnet
