// `rdmove resolve ID [--source-is-dead|--destination-is-dead|--runs-there]`: what only the operator can know.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class ResolveCommand : public Command {
 public:
  ResolveCommand(std::string id, std::string word, bool force)
      : id_(std::move(id)), word_(std::move(word)), force_(force) {}
  ExitCode run(Session& session) override;

 private:
  std::string id_;
  std::string word_;
  bool force_;
};

}  // namespace rdmove::cli
