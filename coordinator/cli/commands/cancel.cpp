#include "coordinator/cli/commands/cancel.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode CancelCommand::run(Session& session) {
  v1::CancelRequest request;
  request.set_id(id_);
  const auto reply = session.daemon.call(&Daemon::Stub::Cancel, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
