// An identity as JSON: a part of the plan's form. Internal to rdmove_plan; wrong input throws FieldError.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "coordinator/migration/json_reader.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove::plan_json {

nlohmann::json identityJson(const Identity& identity);
Identity readIdentity(Object in);

}  // namespace rdmove::plan_json
