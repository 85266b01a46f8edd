#include "coordinator/migration/spans.hpp"

#include <algorithm>
#include <cstdlib>

namespace rdmove {

std::vector<TimelineSpan> spansFrom(const std::vector<StepRecord>& steps) {
  std::vector<TimelineSpan> spans;
  for (const StepRecord& step : steps) {
    if (step.mark == StepMark::kNote) continue;
    if (step.mark == StepMark::kGuest) {
      TimelineSpan span;
      span.source = "guest";
      span.phase = step.step;
      span.begin_us = step.wall_us - std::strtoll(step.detail.c_str(), nullptr, 10) * 1000;
      span.end_us = step.wall_us;
      spans.push_back(std::move(span));
      continue;
    }
    if (step.mark == StepMark::kIntent) {
      TimelineSpan span;
      span.source = step.source;
      span.phase = step.step;
      span.begin_us = step.wall_us;
      span.detail = step.detail;
      spans.push_back(std::move(span));
      continue;
    }
    const auto open = std::find_if(spans.rbegin(), spans.rend(), [&](const TimelineSpan& span) {
      return span.source == step.source && span.phase == step.step && !span.end_us;
    });
    if (open == spans.rend()) continue;
    open->end_us = step.wall_us;
    open->failed = step.mark == StepMark::kFailed;
    if (!step.detail.empty()) open->detail = step.detail;
  }
  // A daemon that was killed closed no bar: the phase that followed shows when it was over at the latest.
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].end_us) continue;
    const auto next =
        std::find_if(spans.begin() + static_cast<std::ptrdiff_t>(i) + 1, spans.end(),
                     [&](const TimelineSpan& later) { return later.source == spans[i].source; });
    if (next != spans.end()) spans[i].end_us = next->begin_us;
  }
  return spans;
}

}  // namespace rdmove
