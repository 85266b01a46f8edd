#include "coordinator/cli/write_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace rdmove::cli {

ExitCode writeFile(const Terminal& terminal, const std::string& file, std::string_view text,
                   std::string_view option) {
  if (file == "-") {
    terminal.out << text << std::flush;
    return ExitCode::kDone;
  }
  errno = 0;
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out) return ExitCode::kDone;
  return terminal.fail({ExitCode::kUsage, fmt::format("cannot write {}: {}. Name another file with {}.", file,
                                                      std::generic_category().message(errno), option)});
}

}  // namespace rdmove::cli
