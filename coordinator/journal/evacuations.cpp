#include "coordinator/journal/evacuations.hpp"

namespace rdmove {

std::string_view toString(EvacuationOutcome outcome) {
  switch (outcome) {
    case EvacuationOutcome::kRunning:
      return "Running";
    case EvacuationOutcome::kCompleted:
      return "Completed";
    case EvacuationOutcome::kIncomplete:
      return "Incomplete";
    case EvacuationOutcome::kDegraded:
      return "Degraded";
    case EvacuationOutcome::kCancelled:
      return "Cancelled";
  }
  return "unknown";
}

std::string_view toString(EvacuatedState state) {
  switch (state) {
    case EvacuatedState::kWaiting:
      return "waiting";
    case EvacuatedState::kMoving:
      return "moving";
    case EvacuatedState::kMoved:
      return "moved";
    case EvacuatedState::kStayed:
      return "stayed";
    case EvacuatedState::kDegraded:
      return "degraded";
  }
  return "unknown";
}

}  // namespace rdmove
