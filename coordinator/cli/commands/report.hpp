// `rdmove report ID --html FILE`: one page about one migration, for people. Made by the parser, run once on
// the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class ReportCommand : public Command {
 public:
  ReportCommand(std::string id, std::string html_file)
      : id_(std::move(id)), html_file_(std::move(html_file)) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;
  std::string html_file_;
};

}  // namespace rdmove::cli
