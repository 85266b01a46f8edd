// A soft-RoCE device on `lo` that exists only while a move needs it: librdmacm lets go of a device's context
// only when another RDMA device exists (docs/agent-protocol.md, "Applications"). Loop thread.
#pragma once

#include <string>

#include "guestagent/agent/rdma_links.hpp"

namespace rdmove::agent {

/// Makes an anchor unless a device that stays is there. Failing is not fatal: applications then cannot let
/// go, and are named as holdouts.
void drop_anchor(RdmaLinks& links, const std::vector<std::string>& leaving);

/// Deletes every anchor. The kernel finishes that when the last application has looked at its devices again.
void weigh_anchor(RdmaLinks& links);

bool is_anchor(const std::string& rdma_name);

}  // namespace rdmove::agent
