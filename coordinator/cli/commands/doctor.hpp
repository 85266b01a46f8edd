// `rdmove doctor [VM [DEST]]`: what would fail later, found now. Changes nothing.
// Made by the parser, run once on the main thread.
#pragma once

#include <string>

#include "coordinator/cli/command.hpp"

namespace rdmove::cli {

class DoctorCommand : public Command {
 public:
  DoctorCommand(std::string domain, std::string destination)
      : domain_(std::move(domain)), destination_(std::move(destination)) {}
  ExitCode run(Session& session) override;

 private:
  std::string domain_;       ///< may be empty: this host
  std::string destination_;  ///< may be empty
};

}  // namespace rdmove::cli
