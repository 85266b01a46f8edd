// `rdmove vf show VF`: all that is known of one VF of this host's pools.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class VfShowCommand : public Command {
 public:
  explicit VfShowCommand(std::string name) : name_(std::move(name)) {}
  ExitCode run(Session& session) override;

 private:
  std::string name_;
};

}  // namespace rdmove::cli
