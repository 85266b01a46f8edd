#include "coordinator/cli/commands/agent.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode AgentCommand::run(Session& session) {
  v1::QueryAgentRequest request;
  request.set_domain(domain_);
  request.set_method(method_);
  const auto reply = session.daemon.call(&Daemon::Stub::QueryAgent, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply, method_) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
