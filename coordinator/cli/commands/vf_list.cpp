#include "coordinator/cli/commands/vf_list.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode VfListCommand::run(Session& session) {
  const v1::ListVfsRequest request;
  const auto reply = session.daemon.call(&Daemon::Stub::ListVfs, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
