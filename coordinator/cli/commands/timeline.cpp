#include "coordinator/cli/commands/timeline.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/format/timeline_reply.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode TimelineCommand::run(Session& session) {
  v1::TimelineRequest request;
  request.set_id(id_);
  const auto reply = session.daemon.call(&Daemon::Stub::GetTimeline, request);
  if (!reply) return session.terminal.fail(reply.error());
  if (svg_file_.empty()) {
    session.terminal.out << session.formatter.format(*reply) << std::flush;
    return ExitCode::kDone;
  }
  const std::string svg = renderSvg(timelineOf(*reply));
  if (svg_file_ == "-") {
    session.terminal.out << svg << std::flush;
    return ExitCode::kDone;
  }
  errno = 0;
  std::ofstream file(svg_file_, std::ios::binary);
  file << svg;
  file.close();
  if (!file) {
    return session.terminal.fail(
        {ExitCode::kUsage, fmt::format("cannot write {}: {}. Name another file with --svg.", svg_file_,
                                       std::generic_category().message(errno))});
  }
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
