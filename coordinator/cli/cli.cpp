#include "coordinator/cli/cli.hpp"

#include "coordinator/cli/command_line.hpp"
#include "coordinator/cli/daemon.hpp"

namespace rdmove::cli {

ExitCode runCli(const std::vector<std::string>& arguments, const Terminal& terminal) {
  CommandLine line = readCommandLine(arguments);
  if (const auto* answer = std::get_if<Answer>(&line)) {
    terminal.out << answer->text << std::flush;
    return ExitCode::kDone;
  }
  if (const auto* error = std::get_if<UsageError>(&line)) {
    terminal.err << error->text << std::flush;
    return ExitCode::kUsage;
  }
  auto& invocation = std::get<Invocation>(line);
  auto daemon = Daemon::connect(invocation.socket);
  if (!daemon) return terminal.fail(daemon.error());
  const auto formatter = makeFormatter(invocation.form, terminal.width);
  Session session{*daemon, terminal, *formatter};
  return invocation.command->run(session);
}

}  // namespace rdmove::cli
