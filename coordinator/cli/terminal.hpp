// Where a command writes: answers to out, what went wrong to err. Owned by main() or a test; main thread
// only.
#pragma once

#include <ostream>
#include <string_view>

#include "coordinator/cli/exit_code.hpp"

namespace rdmove::cli {

/// Whether a line can be drawn over.
enum class Redraw { kNo, kYes };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  Redraw redraw = Redraw::kNo;
  int width = 100;  ///< columns

  /// "rdmove: SENTENCE" on err; gives back the code.
  ExitCode fail(const Failure& failure) const;
};

/// The process' own: stdout and stderr; redraw only if stdout is a terminal; COLUMNS overrides its width.
Terminal standardTerminal();

}  // namespace rdmove::cli
