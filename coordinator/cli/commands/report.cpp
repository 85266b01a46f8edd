#include "coordinator/cli/commands/report.hpp"

#include <map>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/report/evacuation_page.hpp"
#include "coordinator/cli/report/page.hpp"
#include "coordinator/cli/write_file.hpp"

namespace rdmove::cli {

ExitCode ReportCommand::run(Session& session) {
  v1::ShowRequest show_request;
  show_request.set_id(id_);
  const auto show = session.daemon.call(&Daemon::Stub::Show, show_request);
  if (!show) return session.terminal.fail(show.error());
  if (show->has_evacuation()) return aboutEvacuation(session, show->evacuation());
  v1::TimelineRequest timeline_request;
  timeline_request.set_id(show->migration().id());
  const auto timeline = session.daemon.call(&Daemon::Stub::GetTimeline, timeline_request);
  if (!timeline) return session.terminal.fail(timeline.error());
  return writeFile(session.terminal, html_file_, reportPage(*show, *timeline), "--html");
}

ExitCode ReportCommand::aboutEvacuation(Session& session, const v1::EvacuationSummary& evacuation) const {
  std::map<std::string, v1::TimelineReply> timelines;
  const auto fetch = [&](const std::string& migration) {
    if (migration.empty()) return;
    v1::TimelineRequest request;
    request.set_id(migration);
    // The journal forgets old migrations; then there is nothing to draw of them.
    if (auto timeline = session.daemon.call(&Daemon::Stub::GetTimeline, request))
      timelines[migration] = std::move(*timeline);
  };
  for (const auto& vm : evacuation.vms()) {
    fetch(vm.migration());
    for (const auto& tried : vm.tried()) fetch(tried.migration());
  }
  return writeFile(session.terminal, html_file_, evacuationPage(evacuation, timelines), "--html");
}

}  // namespace rdmove::cli
