// `rdmove show ID`: all that the journal knows of one migration.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class ShowCommand : public Command {
 public:
  explicit ShowCommand(std::string id) : id_(std::move(id)) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;
};

}  // namespace rdmove::cli
