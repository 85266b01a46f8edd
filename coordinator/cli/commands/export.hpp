// `rdmove export ID`: all that a report of a defect needs, in one file. Made by the parser, run once on the
// main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class ExportCommand : public Command {
 public:
  ExportCommand(std::string id, std::string file) : id_(std::move(id)), file_(std::move(file)) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;
  std::string file_;
};

}  // namespace rdmove::cli
