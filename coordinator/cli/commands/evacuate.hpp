// `rdmove evacuate [DEST…]`: moves every VM with RDMA devices away from this host and follows it to the end;
// with
// --dry-run, which VM would go where. Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

struct EvacuateOptions {
  v1::EvacuateRequest request;
  bool dry_run = false;
  OutputForm form = OutputForm::kText;
};

class EvacuateCommand : public Command {
 public:
  explicit EvacuateCommand(EvacuateOptions options) : options_(std::move(options)) {}
  ExitCode run(Session& session) override;
  const EvacuateOptions& options() const { return options_; }

 private:
  ExitCode plan(Session& session) const;
  EvacuateOptions options_;
};

}  // namespace rdmove::cli
