#include "coordinator/cli/commands/doctor.hpp"

#include <algorithm>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode DoctorCommand::run(Session& session) {
  v1::DoctorRequest request;
  request.set_domain(domain_);
  request.set_destination(destination_);
  const auto reply = session.daemon.call(&Daemon::Stub::Doctor, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  const bool sound =
      std::none_of(reply->findings().begin(), reply->findings().end(),
                   [](const auto& finding) { return finding.severity() >= v1::Finding::ERROR; });
  return sound ? ExitCode::kDone : ExitCode::kRefused;
}

}  // namespace rdmove::cli
