// `rdmove agent VM counters --watch`: what the guest's RDMA ports do per second, until Ctrl-C.
// Made by the parser, run once on the main thread.
#pragma once

#include <chrono>
#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/format/formatter.hpp"

namespace rdmove::cli {

class AgentWatchCommand : public Command {
 public:
  AgentWatchCommand(std::string domain, std::chrono::milliseconds interval, OutputForm form)
      : domain_(std::move(domain)), interval_(interval), form_(form) {}
  ExitCode run(Session& session) override;

 private:
  std::string domain_;
  std::chrono::milliseconds interval_;
  OutputForm form_;
};

}  // namespace rdmove::cli
