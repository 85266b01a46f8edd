// The other host's coordinator, as the departure's session sees it. Calls block and are made from workers;
// each is bounded by the configured time. The one real implementation speaks gRPC
// (service/partner_client.cpp).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/agentlink/agent_link.hpp"
#include "coordinator/base/result.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/migration/plan.hpp"
#include "coordinator/preflight/adapter_checks.hpp"
#include "coordinator/preflight/finding.hpp"
#include "coordinator/preflight/host_room.hpp"

namespace rdmove {

/// Where the arrival stands; told at each change.
struct ArrivalReport {
  std::string phase;
  Outcome outcome = Outcome::kRunning;
  std::string error;
  bool arrived = false;  ///< the domain was resumed there: no way back
  std::vector<StepRecord> steps;
  Traffic traffic_after;  ///< of the guest, once it was verified
};

struct WithdrawAnswer {
  bool running_there = false;  ///< now
  std::string state;
  bool ran_there =
      false;  ///< it arrived, whatever became of it since: a copy that stayed behind is of its past
  bool may_have_run = false;  ///< the host lost power as it came in, so nobody there can tell
};

/// Ends the stream when destroyed; nothing is called after that.
class Following {
 public:
  virtual ~Following() = default;
};

class Partner {
 public:
  virtual ~Partner() = default;
  /// kIncompatible when the partner speaks another version of the API; kConflict when it is this very host.
  virtual Result<void> hello() = 0;
  virtual Result<std::vector<Finding>> examine(const Plan& plan, const SourceFacts& facts) = 0;
  /// kIncompatible when its rdmoved is too old to say.
  virtual Result<HostRoom> room() = 0;
  virtual Result<std::vector<LeasedVf>> reserve(const Plan& plan, std::chrono::milliseconds hold) = 0;
  virtual Result<void> releaseIdentity(const MigrationId& id, const Traffic& before) = 0;
  virtual Result<WithdrawAnswer> withdraw(const MigrationId& id, bool source_runs) = 0;
  /// Both callbacks come on the loop thread. `broken` is called once, last; follow again then.
  virtual std::unique_ptr<Following> follow(const MigrationId& id, std::function<void(ArrivalReport)> report,
                                            std::function<void(Error)> broken) = 0;
};

class Partners {
 public:
  virtual ~Partners() = default;
  /// kNotFound when the configuration does not name it.
  virtual Result<Partner*> find(const HostName& name) = 0;
};

}  // namespace rdmove
