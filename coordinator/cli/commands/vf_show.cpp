#include "coordinator/cli/commands/vf_show.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode VfShowCommand::run(Session& session) {
  v1::ShowVfRequest request;
  request.set_name(name_);
  const auto reply = session.daemon.call(&Daemon::Stub::ShowVf, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
