// What the shell learns from rdmove. Documented in docs/cli.md, rdmove(1) and --help: do not renumber.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace rdmove::cli {

enum class ExitCode : int {
  kDone = 0,
  kDefect = 1,       ///< an exception that nobody expected: a defect of rdmove itself
  kUsage = 2,        ///< the command line is wrong; the daemon was not asked
  kRefused = 3,      ///< refused before anything changed
  kRolledBack = 4,   ///< failed or cancelled; the VM runs where it was, as it was
  kDegraded = 5,     ///< something is missing and is still being retried
  kLostContact = 6,  ///< the daemon does not answer (any more); a migration that was started goes on
};

/// Why a command did not do its work: the code, and one sentence for stderr.
struct Failure {
  ExitCode code = ExitCode::kRefused;
  std::string sentence;
};

/// From MigrationSummary.outcome, of a migration or of an evacuation. A word that this version does not know
/// is kLostContact: look with `rdmove show`.
ExitCode exitCodeForOutcome(std::string_view outcome);

/// From a grpc::StatusCode that ended a call with no outcome.
ExitCode exitCodeForStatus(int grpc_status_code);

/// What the codes mean, for --help and the man pages: one a line, each after two blanks.
std::string exitCodeLines();

}  // namespace rdmove::cli
