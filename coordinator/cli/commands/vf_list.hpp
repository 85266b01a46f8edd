// `rdmove vf list`: the VFs of this host's pools and who has them.
// Made by the parser, run once on the main thread.
#pragma once

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class VfListCommand : public Command {
 public:
  VfListCommand() = default;
  ExitCode run(Session& session) override;
};

}  // namespace rdmove::cli
