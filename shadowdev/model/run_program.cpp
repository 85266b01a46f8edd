#include "shadowdev/model/run_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rdmove::shadow {
namespace {

constexpr int kCannot = 2;
constexpr int kNotFound = 127;  // as shells say it

}  // namespace

int run_program(const RunOptions& options) {
  std::string library;
  for (const char* name : {"libibverbs.so.1", "librdmacm.so.1"}) {
    library = options.libraries + "/" + name;
    if (access(library.c_str(), R_OK) != 0) break;
    library.clear();
  }
  if (library.empty()) {
    const char* before = std::getenv("LD_LIBRARY_PATH");
    const std::string path =
        before == nullptr || *before == '\0' ? options.libraries : options.libraries + ":" + before;
    setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  } else if (options.require) {
    fmt::print(stderr,
               "rdmove-shadow: {} cannot be read ({}). Install it, or name its directory with --libraries.\n",
               library, std::strerror(errno));
    return kCannot;
  } else {
    fmt::print(stderr, "rdmove-shadow: {} is not there: {} runs unshadowed.\n", library,
               options.command.front());
  }
  std::vector<char*> arguments;
  std::vector<std::string> command = options.command;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  fmt::print(stderr, "rdmove-shadow: {}: {}\n", options.command.front(), std::strerror(errno));
  return kNotFound;
}

}  // namespace rdmove::shadow
