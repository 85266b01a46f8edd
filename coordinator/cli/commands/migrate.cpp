#include "coordinator/cli/commands/migrate.hpp"

#include "coordinator/cli/follow.hpp"

namespace rdmove::cli {
namespace {

std::unique_ptr<UpdateView> viewFor(const MigrateCommandOptions& options, const Terminal& terminal) {
  if (options.form == OutputForm::kJson) return jsonView(terminal);
  return options.verbose ? barView(terminal) : quietView();
}

}  // namespace

ExitCode MigrateCommand::run(Session& session) {
  if (options_.dry_run) return examine(session);
  const auto view = viewFor(options_, session.terminal);
  const Closing closing = options_.form == OutputForm::kJson ? Closing::kInStream : Closing::kSentence;
  return followOne(session, {"the migration of " + options_.request.domain(), closing}, *view,
                   [&](grpc::ClientContext& context) {
                     return session.daemon.stub().Migrate(&context, options_.request);
                   });
}

ExitCode MigrateCommand::examine(Session& session) const {
  const auto reply = session.daemon.call(&Daemon::Stub::Examine, options_.request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  for (const auto& finding : reply->findings()) {
    if (finding.severity() >= v1::Finding::ERROR) return ExitCode::kRefused;
  }
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
