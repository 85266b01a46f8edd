// `rdmove migrate VM DEST`: moves a VM and follows it to the end; with --dry-run, the plan or the reasons
// against it.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/service/api/local.pb.h"
namespace rdmove::cli {

struct MigrateCommandOptions {
  v1::MigrateRequest request;
  bool dry_run = false;
  bool verbose = false;
  OutputForm form = OutputForm::kText;
};

class MigrateCommand : public Command {
 public:
  explicit MigrateCommand(MigrateCommandOptions options) : options_(std::move(options)) {}
  ExitCode run(Session& session) override;
  const MigrateCommandOptions& options() const { return options_; }

 private:
  ExitCode examine(Session& session) const;
  MigrateCommandOptions options_;
};

}  // namespace rdmove::cli
