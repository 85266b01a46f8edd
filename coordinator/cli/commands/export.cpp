#include "coordinator/cli/commands/export.hpp"

#include <google/protobuf/util/json_util.h>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/write_file.hpp"

namespace rdmove::cli {

ExitCode ExportCommand::run(Session& session) {
  v1::ExportRequest request;
  request.set_id(id_);
  const auto reply = session.daemon.call(&Daemon::Stub::Export, request);
  if (!reply) return session.terminal.fail(reply.error());
  // In lines, unlike other JSON: people look through it before they hand it on.
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  options.add_whitespace = true;
  std::string text;
  if (const auto status = google::protobuf::util::MessageToJsonString(*reply, &text, options); !status.ok())
    throw std::runtime_error("cannot write a reply as JSON: " + status.ToString());
  return writeFile(session.terminal, file_.empty() ? "-" : file_, text, "--output");
}

}  // namespace rdmove::cli
