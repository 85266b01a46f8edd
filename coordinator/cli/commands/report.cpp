#include "coordinator/cli/commands/report.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/report/page.hpp"
#include "coordinator/cli/write_file.hpp"

namespace rdmove::cli {

ExitCode ReportCommand::run(Session& session) {
  v1::ShowRequest show_request;
  show_request.set_id(id_);
  const auto show = session.daemon.call(&Daemon::Stub::Show, show_request);
  if (!show) return session.terminal.fail(show.error());
  v1::TimelineRequest timeline_request;
  timeline_request.set_id(show->migration().id());
  const auto timeline = session.daemon.call(&Daemon::Stub::GetTimeline, timeline_request);
  if (!timeline) return session.terminal.fail(timeline.error());
  return writeFile(session.terminal, html_file_, reportPage(*show, *timeline), "--html");
}

}  // namespace rdmove::cli
