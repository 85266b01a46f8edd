#include <stdlib.h>

#include <exception>
#include <iostream>

#include "coordinator/cli/cli.hpp"

int main(int argc, char** argv) {
  // gRPC's own log lines are not for the operator; GRPC_VERBOSITY=debug still brings them.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto code = rdmove::cli::runCli(arguments, rdmove::cli::standardTerminal());
    std::cout.flush();
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    std::cerr << "rdmove: this is a defect of rdmove: " << error.what() << '\n';
    return static_cast<int>(rdmove::cli::ExitCode::kDefect);
  }
}
