// From the journal's step rows to the bars of a timeline: an intent opens a bar, the same source's done or failed
// of that step closes it. Pure, any thread.
#pragma once

#include <vector>

#include "coordinator/journal/journal.hpp"
#include "coordinator/migration/timeline.hpp"

namespace rdmove {

std::vector<TimelineSpan> spansFrom(const std::vector<StepRecord>& steps);

}  // namespace rdmove
