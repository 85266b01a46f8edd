// Man pages out of the command tree, so that they say what the parser does. Pure; any thread.
#pragma once

#include <string>

#include "coordinator/cli/command_tree.hpp"

namespace rdmove::cli {

/// roff (man macros) of rdmove(1) for an empty `command`, else of rdmove-COMMAND(1): "migrate", "vf-list".
/// Empty if there is no such command.
std::string manPage(const CommandDoc& root, const std::string& command);

}  // namespace rdmove::cli
