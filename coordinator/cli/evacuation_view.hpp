// How an evacuation is shown while it lasts: its plan, then one line a VM that is drawn over on a terminal,
// or a line for each change elsewhere; at the end what stayed and why. Owned by the command that follows;
// main thread.
#pragma once

#include <memory>

#include "coordinator/cli/progress.hpp"

namespace rdmove::cli {

std::unique_ptr<UpdateView> evacuationView(const Terminal& terminal);
/// Of a migration or of an evacuation: the first update says which.
std::unique_ptr<UpdateView> oneView(const Terminal& terminal);

/// A VM's line: "vm1  hostb  Transferring  [####....]  50 % …", at most `width` columns. `update` is the
/// newest of its migration, and may have none.
std::string vmLine(const v1::EvacuationVm& vm, const v1::MigrationUpdate& update, int name_width, int width);

}  // namespace rdmove::cli
