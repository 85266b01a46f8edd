// `rdmove agent VM status|apps|counters|holdouts`: asks the agent in the guest.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class AgentCommand : public Command {
 public:
  AgentCommand(std::string domain, std::string method)
      : domain_(std::move(domain)), method_(std::move(method)) {}
  ExitCode run(Session& session) override;

 private:
  std::string domain_;
  std::string method_;
};

}  // namespace rdmove::cli
