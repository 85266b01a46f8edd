// `rdmove timeline ID [--svg FILE]`: the phases on one time axis.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class TimelineCommand : public Command {
 public:
  TimelineCommand(std::string id, std::string svg_file)
      : id_(std::move(id)), svg_file_(std::move(svg_file)) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;
  std::string svg_file_;  ///< empty: none; "-": stdout
};

}  // namespace rdmove::cli
