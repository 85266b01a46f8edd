#include "coordinator/cli/commands/candidates.hpp"

#include <set>
#include <string>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode CandidatesCommand::run(Session& session) {
  std::set<std::string> words;
  if (const auto list = session.daemon.call(&Daemon::Stub::List, v1::ListRequest{})) {
    for (const auto& migration : list->migrations()) {
      words.insert(what_ == Candidates::kIds   ? migration.id()
                   : what_ == Candidates::kVms ? migration.domain()
                                               : migration.partner());
    }
  }
  if (what_ == Candidates::kVms) {
    if (const auto vfs = session.daemon.call(&Daemon::Stub::ListVfs, v1::ListVfsRequest{})) {
      for (const auto& vf : vfs->vfs()) words.insert(vf.domain());
    }
  }
  for (const std::string& word : words) {
    if (!word.empty()) session.terminal.out << printable(word) << '\n';
  }
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
