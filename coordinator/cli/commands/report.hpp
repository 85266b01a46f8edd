// `rdmove report ID --html FILE`: one page about one migration or evacuation, for people. Made by the parser,
// run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

class ReportCommand : public Command {
 public:
  ReportCommand(std::string id, std::string html_file)
      : id_(std::move(id)), html_file_(std::move(html_file)) {}
  ExitCode run(Session& session) override;

 private:
  ExitCode aboutEvacuation(Session& session, const v1::EvacuationSummary& evacuation) const;

  std::string id_;
  std::string html_file_;
};

}  // namespace rdmove::cli
