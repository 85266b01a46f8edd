// The JSON form of a plan and of the leases that an arrival granted, as the journal keeps them (a migration's
// `plan`, its fact "leases"). Version 1. Read strictly: a missing, unknown or ill-typed field is named.
// Absent optional values are absent fields; durations are whole milliseconds in fields that end in _ms. At
// most 4 MiB. Any thread.
#pragma once

#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

inline constexpr int kPlanVersion = 1;

std::string toJson(const Plan& plan);
/// kBadInput names the field ("vfs[1].identity.mac"); kIncompatible: another version wrote it.
Result<Plan> planFromJson(const std::string& text);

std::string leasesToJson(const std::vector<LeasedVf>& leases);
Result<std::vector<LeasedVf>> leasesFromJson(const std::string& text);

}  // namespace rdmove
