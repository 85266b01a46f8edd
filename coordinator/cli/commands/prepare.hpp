// `rdmove prepare VM DEST`: all of a migration but the migration, for another mover to do. Made by the
// parser, run once on the main thread.
#pragma once

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

struct PrepareOptions {
  v1::PrepareRequest request;
  bool verbose = false;
  OutputForm form = OutputForm::kText;
};

class PrepareCommand : public Command {
 public:
  explicit PrepareCommand(PrepareOptions options) : options_(std::move(options)) {}
  ExitCode run(Session& session) override;
  const PrepareOptions& options() const { return options_; }

 private:
  PrepareOptions options_;
};

}  // namespace rdmove::cli
