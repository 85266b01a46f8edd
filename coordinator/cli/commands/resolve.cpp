#include "coordinator/cli/commands/resolve.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode ResolveCommand::run(Session& session) {
  v1::ResolveRequest request;
  request.set_id(id_);
  request.set_word(word_);
  request.set_force(force_);
  const auto reply = session.daemon.call(&Daemon::Stub::Resolve, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
