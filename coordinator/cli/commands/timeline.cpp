#include "coordinator/cli/commands/timeline.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/format/timeline_reply.hpp"
#include "coordinator/cli/terminal.hpp"
#include "coordinator/cli/write_file.hpp"

namespace rdmove::cli {

ExitCode TimelineCommand::run(Session& session) {
  v1::TimelineRequest request;
  request.set_id(id_);
  const auto reply = session.daemon.call(&Daemon::Stub::GetTimeline, request);
  if (!reply) return session.terminal.fail(reply.error());
  if (!svg_file_.empty()) {
    return writeFile(session.terminal, svg_file_, renderSvg(timelineOf(*reply)), "--svg");
  }
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
