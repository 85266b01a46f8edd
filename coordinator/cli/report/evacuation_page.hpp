// The page about an evacuation: its VMs on one time axis, when each was without RDMA, what became of each.
// Pure, any thread.
#pragma once

#include <map>
#include <string>

#include "coordinator/service/api/local.pb.h"

namespace rdmove::cli {

/// `timelines` by migration; one that the journal has forgotten is absent.
std::string evacuationPage(const v1::EvacuationSummary& evacuation,
                           const std::map<std::string, v1::TimelineReply>& timelines);

}  // namespace rdmove::cli
