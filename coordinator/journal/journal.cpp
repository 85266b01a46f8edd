#include "coordinator/journal/journal.hpp"

namespace rdmove {

bool isFinished(Outcome outcome) {
  return outcome != Outcome::kRunning && outcome != Outcome::kDegraded;
}

std::string_view toString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRunning:
      return "Running";
    case Outcome::kCompleted:
      return "Completed";
    case Outcome::kRefused:
      return "Refused";
    case Outcome::kRolledBack:
      return "RolledBack";
    case Outcome::kDegraded:
      return "Degraded";
    case Outcome::kWithdrawn:
      return "Withdrawn";
    case Outcome::kSuperseded:
      return "Superseded";
  }
  return "unknown";
}

std::string_view toString(Role role) {
  switch (role) {
    case Role::kDeparture:
      return "departure";
    case Role::kArrival:
      return "arrival";
  }
  return "unknown";
}

}  // namespace rdmove
