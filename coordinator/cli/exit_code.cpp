#include "coordinator/cli/exit_code.hpp"

#include <grpcpp/support/status.h>

namespace rdmove::cli {

ExitCode exitCodeForOutcome(std::string_view outcome) {
  if (outcome == "Completed") return ExitCode::kDone;
  if (outcome == "Refused") return ExitCode::kRefused;
  // An arrival that was given up ended before anything arrived: its source rolled back.
  if (outcome == "RolledBack" || outcome == "Withdrawn") return ExitCode::kRolledBack;
  // An evacuation: who stayed runs where it was.
  if (outcome == "Incomplete" || outcome == "Cancelled") return ExitCode::kRolledBack;
  if (outcome == "Degraded") return ExitCode::kDegraded;
  return ExitCode::kLostContact;
}

ExitCode exitCodeForStatus(int code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return ExitCode::kDone;
    // The daemon may have gone on, or not: nobody can tell from here.
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DATA_LOSS:
      return ExitCode::kLostContact;
    default:
      return ExitCode::kRefused;
  }
}

std::string exitCodeLines() {
  return "  0  done\n"
         "  1  a defect of rdmove itself: please report it\n"
         "  2  the command line is wrong\n"
         "  3  refused before anything changed\n"
         "  4  rolled back: the VM runs where it was, as it was (evacuate: some of them)\n"
         "  5  degraded: something is missing and is still being retried\n"
         "  6  lost contact with the daemon: a migration that was started goes on\n";
}

}  // namespace rdmove::cli
