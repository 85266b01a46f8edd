#include "guestagent/protocol/application.hpp"

#include <algorithm>

#include "guestagent/protocol/limits.hpp"
#include "guestagent/protocol/report_parts.hpp"

namespace rdmove::protocol::application {

Payload Register::to_payload() const {
  return Payload({{"version", version}, {"name", name}});
}

Result<Register> Register::from_payload(const Payload& payload) {
  Register out;
  FieldReader in(payload.json());
  in.integer<int>("version", out.version, 1);
  if (auto read = in.finish(0); read && out.version != protocol_version) {
    return fail(ErrorCode::VersionMismatch,
                "version: this agent speaks only version " + std::to_string(protocol_version),
                Payload(nlohmann::json{{"version", protocol_version}}));
  }
  in.text("name", out.name, limits::name_bytes);
  return in.finish(std::move(out));
}

Payload Accepted::to_payload() const {
  return Payload(nlohmann::json{{"accepted", accepted}});
}

Result<Accepted> Accepted::from_payload(const Payload& payload) {
  Accepted out;
  FieldReader in(payload.json());
  in.boolean("accepted", out.accepted);
  return in.finish(out);
}

std::string_view to_text(ReportedState state) {
  return parts::state_names[static_cast<std::size_t>(state)];
}

Payload Report::to_payload() const {
  return Payload(parts::report_json(*this));
}

Result<Report> Report::from_payload(const Payload& payload) {
  Report out;
  FieldReader in(payload.json());
  parts::read_report(in, out);
  return in.finish(out);
}

Payload Quiesce::to_payload() const {
  return Payload({{"migration", migration.text()}, {"deadline_ms", deadline.count()}});
}

Result<Quiesce> Quiesce::from_payload(const Payload& payload) {
  Quiesce out;
  FieldReader in(payload.json());
  in.migration("migration", out.migration);
  in.milliseconds("deadline_ms", out.deadline);
  return in.finish(std::move(out));
}

Payload Released::to_payload() const {
  return Payload(nlohmann::json{{"released", released}});
}

Result<Released> Released::from_payload(const Payload& payload) {
  Released out;
  FieldReader in(payload.json());
  in.boolean("released", out.released);
  return in.finish(out);
}

Payload Ready::to_payload() const {
  return Payload({{"migration", migration.text()}, {"addresses", addresses}});
}

Result<Ready> Ready::from_payload(const Payload& payload) {
  Ready out;
  FieldReader in(payload.json());
  in.migration("migration", out.migration);
  in.texts("addresses", out.addresses, limits::devices * limits::addresses, limits::address_bytes);
  return in.finish(std::move(out));
}

}  // namespace rdmove::protocol::application
