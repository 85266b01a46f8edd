#include "coordinator/cli/commands/candidates.hpp"

#include <set>
#include <string>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {
namespace {

// bash expands what it is given as candidates: a VM that is called '$(...)' must not get there.
bool harmless(const std::string& word) {
  return !word.empty() && word.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "._:+@-") == std::string::npos;
}

}  // namespace

ExitCode CandidatesCommand::run(Session& session) {
  std::set<std::string> words;
  if (const auto list = session.daemon.call(&Daemon::Stub::List, v1::ListRequest{})) {
    for (const auto& migration : list->migrations()) {
      words.insert(what_ == Candidates::kIds   ? migration.id()
                   : what_ == Candidates::kVms ? migration.domain()
                                               : migration.partner());
    }
    if (what_ == Candidates::kIds) {
      for (const auto& evacuation : list->evacuations()) words.insert(evacuation.id());
    }
  }
  if (what_ == Candidates::kVms) {
    if (const auto vfs = session.daemon.call(&Daemon::Stub::ListVfs, v1::ListVfsRequest{})) {
      for (const auto& vf : vfs->vfs()) words.insert(vf.domain());
    }
  }
  for (const std::string& word : words) {
    if (harmless(word)) session.terminal.out << word << '\n';
  }
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
