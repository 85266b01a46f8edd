// The program's loop: librdmove's, signals, and a tick for what is due. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "guestagent/ping/options.hpp"
#include "guestagent/ping/report.hpp"
#include "rdmove/loop.hpp"

namespace rdmove::ping {

/// What a run is made of: the server, or the client.
class Role {
 public:
  virtual ~Role() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  /// When it wants tick() next at the latest.
  virtual Clock::time_point tick(Clock::time_point now) = 0;
  virtual void interrupted() = 0;  ///< finish: what is under way is waited for, for a while
  [[nodiscard]] virtual bool is_over() const = 0;
  /// A connection ended before it was to.
  [[nodiscard]] virtual bool has_failed() const { return false; }
  [[nodiscard]] virtual std::vector<ConnectionReport> report() const = 0;
  [[nodiscard]] virtual Totals totals() const = 0;
};

class Runner {
 public:
  Runner(failover::Loop& loop, const Options& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Until it is over; prints the summary. False: signals could not be set up.
  bool run(Role& role);

 private:
  void take_signals(Role& role);
  void write_status(const Role& role);
  void print_state(const Role& role) const;

  failover::Loop& loop_;
  const Options& options_;
  int signals_ = -1;
  int interrupts_ = 0;
  bool is_status_refused_ = false;
};

/// A line on standard output (standard error with --json, whose output is for programs).
void say(const Options& options, const std::string& line);

}  // namespace rdmove::ping
