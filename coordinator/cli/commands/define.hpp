// `rdmove define VM`: writes the rdma metadata of a VM, live and persistent.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/vf_spec.hpp"
namespace rdmove::cli {

struct DefineOptions {
  std::string domain;
  std::vector<VfSpec> vfs;
  std::string standby;  ///< alias of the NIC that stays; may be empty
  bool remove = false;
  bool dry_run = false;
};

class DefineCommand : public Command {
 public:
  explicit DefineCommand(DefineOptions options) : options_(std::move(options)) {}
  ExitCode run(Session& session) override;

 private:
  DefineOptions options_;
};

}  // namespace rdmove::cli
