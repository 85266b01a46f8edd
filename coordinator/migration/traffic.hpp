// What the guest's RDMA devices counted before and after a move: the form that the journal keeps (facts
// "traffic-before", "traffic-restored", "traffic-after"), and what Verify makes of it. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/agentlink/agent_link.hpp"

namespace rdmove {

inline constexpr const char* kTrafficBefore = "traffic-before";
inline constexpr const char* kTrafficRestored = "traffic-restored";
inline constexpr const char* kTrafficAfter = "traffic-after";

/// What is kept at most, whoever says it.
inline constexpr std::size_t kMostTrafficDevices = 32;
inline constexpr std::size_t kMostTrafficValues = 32;
Traffic bounded(Traffic traffic);

std::string trafficToJson(const Traffic& traffic);
/// What cannot be read is as good as not told: none.
Traffic trafficFromJson(std::string_view text);

/// What is odd about an arrived guest: applications say that they are connected, and no RDMA counter shows
/// it. `baseline` is what the devices had counted when they came; of soft-RoCE, which is made anew, nothing.
std::optional<std::string> trafficWarning(const Traffic& baseline, const Traffic& after,
                                          const std::vector<AgentApplication>& applications);

}  // namespace rdmove
