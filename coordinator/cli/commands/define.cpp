#include "coordinator/cli/commands/define.hpp"

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/formatter.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {

ExitCode DefineCommand::run(Session& session) {
  v1::DefineRequest request;
  request.set_domain(options_.domain);
  request.set_standby(options_.standby);
  request.set_remove(options_.remove);
  request.set_dry_run(options_.dry_run);
  for (const VfSpec& spec : options_.vfs) {
    v1::VfSpec& vf = *request.add_vfs();
    vf.set_alias(spec.alias.str());
    vf.set_pool(spec.pool.str());
    if (spec.model) vf.set_model(std::string(toString(*spec.model)));
    if (spec.continuity) vf.set_continuity(std::string(toString(*spec.continuity)));
    if (spec.mac) vf.set_mac(spec.mac->str());
    if (spec.vlan) vf.set_vlan(*spec.vlan);
    if (spec.node_guid) vf.set_node_guid(spec.node_guid->str());
    if (spec.port_guid) vf.set_port_guid(spec.port_guid->str());
    vf.mutable_settings()->insert(spec.settings.begin(), spec.settings.end());
    vf.set_pkeys(toString(spec.pkeys));
  }
  const auto reply = session.daemon.call(&Daemon::Stub::Define, request);
  if (!reply) return session.terminal.fail(reply.error());
  session.terminal.out << session.formatter.format(*reply) << std::flush;
  return ExitCode::kDone;
}

}  // namespace rdmove::cli
