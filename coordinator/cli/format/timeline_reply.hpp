// The daemon's timeline as the renderer's value. Pure; any thread.
#pragma once

#include "coordinator/migration/timeline.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

Timeline timelineOf(const v1::TimelineReply& reply);

}  // namespace rdmove::cli
