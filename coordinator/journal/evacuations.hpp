// What this host remembers of its evacuations: one at a time, and each of its VMs with where it goes and what
// became of it. The migrations themselves are journaled as any other; these rows say which belong together
// and what is still to be begun. Part of the journal (journal.hpp, docs/journal.md); loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

using EvacuationId = Name<struct EvacuationIdTag>;  ///< "evacuation-hosta-20261130-0a1b2c"

/// Persisted: do not renumber.
enum class EvacuationOutcome : int {
  kRunning = 0,
  kCompleted = 1,   ///< no VM that was to go is here any more
  kIncomplete = 2,  ///< some stayed, each as it was
  kDegraded = 3,    ///< the migration of some is still being repaired
  kCancelled = 4    ///< some stayed, since it was cancelled
};
std::string_view toString(EvacuationOutcome outcome);

/// Persisted: do not renumber.
enum class EvacuatedState : int {
  kWaiting = 0,
  kMoving = 1,  ///< its migration has begun, or was about to
  kMoved = 2,
  kStayed = 3,
  kDegraded = 4,  ///< its migration waits for something; the evacuation does not wait for it
};
std::string_view toString(EvacuatedState state);

struct EvacuationRecord {
  EvacuationId id;
  std::string request;  ///< JSON, evacuation/record_json.hpp
  bool cancelled = false;
  EvacuationOutcome outcome = EvacuationOutcome::kRunning;
  std::int64_t created_us = 0;
  std::int64_t updated_us = 0;
};

struct EvacuatedVm {
  DomainUuid uuid;
  std::string domain;
  std::string need;  ///< JSON
  EvacuatedState state = EvacuatedState::kWaiting;
  HostName destination;   ///< where it goes or went; empty: nowhere fits
  MigrationId migration;  ///< the newest one; empty: none yet
  std::string reason;     ///< why it stayed, or what is degraded
  std::string tried;      ///< JSON: what was tried before
  std::int64_t began_us = 0;
  std::int64_t ended_us = 0;
};

class EvacuationJournal {
 public:
  virtual ~EvacuationJournal() = default;

  /// With all its VMs, in the order in which they are to begin. kConflict names one that is not over. Times
  /// of 0 become now. Drops the oldest finished ones beyond 100.
  virtual Result<void> beginEvacuation(const EvacuationRecord&, const std::vector<EvacuatedVm>&) = 0;
  /// Replaces what was kept of this VM. kNotFound when the evacuation has no such VM.
  virtual Result<void> keepEvacuated(const EvacuationId&, const EvacuatedVm&) = 0;
  virtual Result<void> cancelEvacuation(const EvacuationId&) = 0;
  virtual Result<void> finishEvacuation(const EvacuationId&, EvacuationOutcome) = 0;
  /// The newest first.
  virtual Result<std::vector<EvacuationRecord>> evacuations() = 0;
  virtual Result<std::vector<EvacuatedVm>> evacuated(const EvacuationId&) = 0;
};

}  // namespace rdmove
