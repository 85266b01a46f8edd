#include "coordinator/cli/commands/prepare.hpp"

#include "coordinator/cli/follow.hpp"

namespace rdmove::cli {

ExitCode PrepareCommand::run(Session& session) {
  const bool json = options_.form == OutputForm::kJson;
  const auto view = json               ? jsonView(session.terminal)
                    : options_.verbose ? barView(session.terminal)
                                       : quietView();
  return followOne(
      session,
      {"the preparation of " + options_.request.domain(), json ? Closing::kInStream : Closing::kSentence},
      *view, [&](grpc::ClientContext& context) {
        return session.daemon.stub().Prepare(&context, options_.request);
      });
}

}  // namespace rdmove::cli
