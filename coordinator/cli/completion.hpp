// The bash completion script out of the command tree: commands, options and their words; ids, VMs and hosts
// are what the daemon tells (`rdmove completion ids`). Pure; any thread.
#pragma once

#include <string>

#include "coordinator/cli/command_tree.hpp"

namespace rdmove::cli {

std::string bashCompletion(const CommandDoc& root);

}  // namespace rdmove::cli
