// `rdmove cancel ID`: rolls a migration back, or says why it is too late.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class CancelCommand : public Command {
 public:
  explicit CancelCommand(std::string id) : id_(std::move(id)) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;
};

}  // namespace rdmove::cli
