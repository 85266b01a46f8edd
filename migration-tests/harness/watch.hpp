// What both hosts' daemons say of their migrations while a scenario runs (`rdmove watch --json`), started
// anew when a daemon was away. Nothing is lost by that: the state at the (re)start comes first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "migration-tests/harness/process.hpp"
#include "migration-tests/harness/site.hpp"

namespace rdmove::harness {

/// One word of a daemon.
struct Word {
  std::string host;
  std::string id;
  std::string role;  ///< departure, arrival
  std::string phase;
  std::string outcome;  ///< "Running" until it is over

  [[nodiscard]] std::string at() const { return role + "." + phase; }
  friend bool operator==(const Word&, const Word&) = default;
};

/// nullopt: no update of this VM.
std::optional<Word> wordOf(const std::string& host, const std::string& json_line, const std::string& vm);

class Watch {
 public:
  Watch(const Host& host, std::string vm) : host_(host), vm_(std::move(vm)) {}

  /// What is new. Never waits.
  std::vector<Word> news();
  [[nodiscard]] int descriptor() const { return child_ ? child_->descriptor() : -1; }

 private:
  const Host& host_;
  std::string vm_;
  std::unique_ptr<Child> child_;
  std::optional<Word> last_;
  std::chrono::steady_clock::time_point again_{};
};

/// Waits for a daemon to stand still (RDMOVE_STOP_AT), as its kernel says it.
class StandStill {
 public:
  explicit StandStill(const Host& host);
  /// It stands. Never waits.
  bool reached();
  void goOn();

 private:
  const Host& host_;
  Child child_;
  bool stands_ = false;
};

}  // namespace rdmove::harness
