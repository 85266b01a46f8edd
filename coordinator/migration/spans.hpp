// From the journal's step rows to the bars of a timeline: an intent opens a bar, the same source's done or
// failed of that step closes it. What the guest says it took becomes a bar of source "guest", which ends when
// its word arrived. Pure, any thread.
#pragma once

#include <vector>

#include "coordinator/journal/journal.hpp"
#include "coordinator/migration/timeline.hpp"

namespace rdmove {

std::vector<TimelineSpan> spansFrom(const std::vector<StepRecord>& steps);

}  // namespace rdmove
