// `rdmove list [--newest N]`: this host's migrations, the newest first.
// Made by the parser, run once on the main thread.
#pragma once

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class ListCommand : public Command {
 public:
  explicit ListCommand(unsigned newest) : newest_(newest) {}
  ExitCode run(Session& session) override;

 private:
  unsigned newest_;  ///< 0: the daemon's default
};

}  // namespace rdmove::cli
