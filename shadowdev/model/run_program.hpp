// rdmove-shadow run: starts a program so that the loader finds our libraries before the installed ones.
#pragma once

#include <string>
#include <vector>

namespace rdmove::shadow {

struct RunOptions {
  std::string libraries;  ///< the directory with our libibverbs.so.1 and librdmacm.so.1
  bool require = false;   ///< no program without them
  std::vector<std::string> command;
};

/// Does not come back if the program starts; else an exit code, and the reason on standard error.
int run_program(const RunOptions& options);

}  // namespace rdmove::shadow
