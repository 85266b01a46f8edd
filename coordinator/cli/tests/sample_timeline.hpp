// Timelines of `rdmove timeline`'s reply, for tests of what is made of them.
#pragma once

#include <initializer_list>

#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

struct Bar {
  const char* source;  ///< "hosta departure"
  const char* phase;
  long begin_us;
  long end_us;
};

inline v1::TimelineReply completedTimeline(std::initializer_list<Bar> bars) {
  v1::TimelineReply reply;
  reply.mutable_migration()->set_outcome("Completed");
  for (const Bar& bar : bars) {
    auto* span = reply.add_spans();
    span->set_source(bar.source);
    span->set_phase(bar.phase);
    span->set_begin_us(bar.begin_us);
    span->set_end_us(bar.end_us);
  }
  return reply;
}

}  // namespace rdmove::cli
