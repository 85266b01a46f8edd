#include "coordinator/cli/format/timeline_reply.hpp"

namespace rdmove::cli {

Timeline timelineOf(const v1::TimelineReply& reply) {
  Timeline timeline;
  timeline.migration = reply.migration().id();
  timeline.domain = reply.migration().domain();
  timeline.outcome = reply.migration().outcome() == "Running" ? "running" : reply.migration().outcome();
  for (const auto& span : reply.spans()) {
    TimelineSpan& added = timeline.spans.emplace_back();
    added.source = span.source();
    added.phase = span.phase();
    added.begin_us = span.begin_us();
    if (span.end_us() != 0) added.end_us = span.end_us();
    added.failed = span.failed();
    added.detail = span.detail();
  }
  return timeline;
}

}  // namespace rdmove::cli
