// Writes what a command made into the file that it was told. Main thread.
#pragma once

#include <string>
#include <string_view>

#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

/// "-" is the terminal's out. What cannot be written is a wrong command line: `option` is named.
ExitCode writeFile(const Terminal& terminal, const std::string& file, std::string_view text,
                   std::string_view option);

}  // namespace rdmove::cli
