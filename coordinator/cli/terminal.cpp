#include "coordinator/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "coordinator/cli/format/printable.hpp"

namespace rdmove::cli {

ExitCode Terminal::fail(const Failure& failure) const {
  out.flush();
  err << "rdmove: " << printableLines(failure.sentence) << std::endl;
  return failure.code;
}

Terminal standardTerminal() {
  Terminal terminal{std::cout, std::cerr};
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0) {
    if (!dumb) terminal.redraw = Redraw::kYes;
    terminal.width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  if (const char* columns = std::getenv("COLUMNS")) {
    int value = 0;
    const char* end = columns + std::strlen(columns);
    const auto [at, error] = std::from_chars(columns, end, value);
    if (error == std::errc{} && at == end && value > 0) terminal.width = value;
  }
  return terminal;
}

}  // namespace rdmove::cli
