#include "coordinator/cli/commands/list.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode ListCommand::run(Session& session) {
  v1::ListRequest request;
  request.set_newest(newest_);
  const auto reply = session.daemon.call(&Daemon::Stub::List, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
