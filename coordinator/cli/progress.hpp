// How a stream of updates is shown while it lasts: as JSON lines, as plain lines, as a bar that redraws, or
// not at all. Owned by the command that follows the stream; main thread only.
#pragma once

#include <memory>
#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

class UpdateView {
 public:
  virtual ~UpdateView() = default;
  virtual void show(const v1::MigrationUpdate& update) = 0;
  /// Whatever comes next starts on a line of its own.
  virtual void settle() = 0;
};

/// Shows nothing until the closing sentence.
std::unique_ptr<UpdateView> quietView();
/// One object a line, the last one too.
std::unique_ptr<UpdateView> jsonView(const Terminal& terminal);
/// A line for each new phase or message, and for each tenth of the transfer.
std::unique_ptr<UpdateView> lineView(const Terminal& terminal);
/// As lines, with the end of each migration among them: nobody else says it.
std::unique_ptr<UpdateView> allView(const Terminal& terminal);
/// As lines, but with one line that is drawn over while the transfer runs.
std::unique_ptr<UpdateView> barView(const Terminal& terminal);

/// "[#####.....]  50 %  1.0 GiB left  dirty 3.0 MiB/s  pass 2  12.3 s", at most `width` columns.
std::string transferLine(const v1::TransferProgress& progress, int width);
/// 0..100.
int percentDone(const v1::TransferProgress& progress);

}  // namespace rdmove::cli
