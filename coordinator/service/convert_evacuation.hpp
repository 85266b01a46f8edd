// Evacuations as messages of the local API. Pure functions, any thread.
#pragma once

#include <string>

#include "coordinator/evacuation/evacuations.hpp"
#include "coordinator/service/api/local.pb.h"

namespace rdmove {

evacuation::Request fromMessage(const v1::EvacuateRequest& request,
                                std::chrono::milliseconds default_prepare);
v1::EvacuationSummary toMessage(const evacuation::Account& account, const HostName& host);
v1::EvacuationPlan toMessage(const evacuation::Draft& draft, const evacuation::Account& account,
                             const HostName& host);
/// An update of the evacuation's own: `migration` in it says who, and how far.
v1::MigrationUpdate updateOf(const evacuation::Account& account, const HostName& host,
                             const std::string& message);

}  // namespace rdmove
