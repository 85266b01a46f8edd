// A VF's identity on the partner API. Pure, any thread.
#pragma once

#include "coordinator/base/result.hpp"
#include "coordinator/migration/plan.hpp"
#include "coordinator/service/api/partner.pb.h"

namespace rdmove {

void fillIdentity(const Identity& identity, v1::PartnerVf& message);
/// kBadInput names the field: a partner's word is checked as an operator's is.
Result<Identity> identityOf(const v1::PartnerVf& message);

}  // namespace rdmove
