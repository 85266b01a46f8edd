// rdmove from its arguments to its exit code, with the terminal handed in: what main() and the tests call.
// Main thread only.
#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/exit_code.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

/// `arguments` without the program's name.
ExitCode runCli(const std::vector<std::string>& arguments, const Terminal& terminal);

}  // namespace rdmove::cli
