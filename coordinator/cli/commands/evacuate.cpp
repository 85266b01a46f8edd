#include "coordinator/cli/commands/evacuate.hpp"

#include "coordinator/cli/evacuation_view.hpp"
#include "coordinator/cli/follow.hpp"

namespace rdmove::cli {

ExitCode EvacuateCommand::run(Session& session) {
  if (options_.dry_run) return plan(session);
  const bool json = options_.form == OutputForm::kJson;
  const auto view = json ? jsonView(session.terminal) : evacuationView(session.terminal);
  return followOne(session, {"the evacuation", json ? Closing::kInStream : Closing::kSentence}, *view,
                   [&](grpc::ClientContext& context) {
                     return session.daemon.stub().Evacuate(&context, options_.request);
                   });
}

ExitCode EvacuateCommand::plan(Session& session) const {
  const auto reply = session.daemon.call(&Daemon::Stub::PlanEvacuation, options_.request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  for (const auto& vm : reply->evacuation().vms()) {
    if (vm.state() == "stayed") return ExitCode::kRefused;
  }
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
