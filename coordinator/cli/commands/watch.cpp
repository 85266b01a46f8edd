#include "coordinator/cli/commands/watch.hpp"

#include "coordinator/cli/evacuation_view.hpp"
#include "coordinator/cli/follow.hpp"

namespace rdmove::cli {

ExitCode WatchCommand::run(Session& session) {
  v1::WatchRequest request;
  request.set_id(id_);
  const OpenStream open = [&](grpc::ClientContext& context) {
    return session.daemon.stub().Watch(&context, request);
  };
  const bool json = form_ == OutputForm::kJson;
  if (id_.empty()) {
    const auto view = json ? jsonView(session.terminal) : allView(session.terminal);
    return followAll(session, *view, open);
  }
  const auto view = json ? jsonView(session.terminal) : oneView(session.terminal);
  return followOne(session, {"migration " + id_, json ? Closing::kInStream : Closing::kSentence}, *view,
                   open);
}

}  // namespace rdmove::cli
