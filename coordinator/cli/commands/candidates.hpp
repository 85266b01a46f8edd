// Hidden, for shell completion: one candidate a line, and silence when the daemon does not answer.
// Made by the parser, run once on the main thread.
#pragma once

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

enum class Candidates { kIds, kVms, kHosts };

class CandidatesCommand : public Command {
 public:
  explicit CandidatesCommand(Candidates what) : what_(what) {}
  ExitCode run(Session& session) override;

 private:
  Candidates what_;
};

}  // namespace rdmove::cli
