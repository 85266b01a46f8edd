// One command of rdmove: made by the parser from what was typed, run once. Main thread only.
#pragma once

#include "coordinator/cli/exit_code.hpp"

namespace rdmove::cli {

class Daemon;
class Formatter;
struct Terminal;

/// What a command works with; all outlive it.
struct Session {
  Daemon& daemon;
  const Terminal& terminal;
  const Formatter& formatter;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual ExitCode run(Session& session) = 0;
};

}  // namespace rdmove::cli
