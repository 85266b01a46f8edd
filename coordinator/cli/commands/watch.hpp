// `rdmove watch [ID]`: follows one migration or evacuation to its end, or all migrations until Ctrl-C.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/format/formatter.hpp"
namespace rdmove::cli {

class WatchCommand : public Command {
 public:
  WatchCommand(std::string id, OutputForm form) : id_(std::move(id)), form_(form) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;  ///< may be empty: all
  OutputForm form_;
};

}  // namespace rdmove::cli
