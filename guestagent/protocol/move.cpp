#include "guestagent/protocol/move.hpp"

#include <algorithm>

#include "guestagent/protocol/move_parts.hpp"

namespace rdmove::protocol {
inline namespace parts {

static nlohmann::json to_json(const PreparedDevice& device) {
  return {{"alias", device.alias},
          {identity_key(device.identity), to_text(device.identity)},
          {"netdev", device.netdev},
          {"addresses", device.addresses}};
}

static void read_prepared(FieldReader& in, PreparedDevice& out) {
  in.text("alias", out.alias, limits::name_bytes);
  in.identity(out.identity);
  in.text("netdev", out.netdev, limits::netdev_bytes);
  in.texts("addresses", out.addresses, limits::addresses, limits::address_bytes);
}

// None, or one device twice, is no move that anyone can have meant.
static void read_targets(FieldReader& in, std::vector<DeviceTarget>& out) {
  in.list("devices", out, limits::devices, read_target);
  if (out.empty()) in.refuse("devices", "must not be empty");
  std::vector<DeviceIdentity> known;
  for (const auto& device : out) known.push_back(device.identity);
  std::sort(known.begin(), known.end());
  if (std::adjacent_find(known.begin(), known.end()) != known.end()) {
    in.refuse("devices", "name one MAC or GUID twice");
  }
}

}  // namespace parts

Payload PrepareRequest::to_payload() const {
  return Payload({{"migration", migration.text()},
                  {"deadline_ms", deadline.count()},
                  {"force", force},
                  {"devices", parts::list_json(devices)}});
}

Result<PrepareRequest> PrepareRequest::from_payload(const Payload& payload) {
  PrepareRequest out;
  FieldReader in(payload.json());
  in.migration("migration", out.migration);
  in.milliseconds("deadline_ms", out.deadline);
  in.optional_boolean("force", out.force);
  parts::read_targets(in, out.devices);
  return in.finish(std::move(out));
}

Payload PrepareResult::to_payload() const {
  nlohmann::json out{
      {"devices", parts::list_json(devices)}, {"applications", applications}, {"took_ms", took.count()}};
  if (!holdouts.empty()) out["holdouts"] = parts::list_json(holdouts);
  if (!traffic.empty()) out["traffic"] = parts::list_json(traffic);
  return Payload(std::move(out));
}

Result<PrepareResult> PrepareResult::from_payload(const Payload& payload) {
  PrepareResult out;
  FieldReader in(payload.json());
  in.list("devices", out.devices, limits::devices, parts::read_prepared);
  in.integer("applications", out.applications);
  in.milliseconds("took_ms", out.took);
  in.optional_list("holdouts", out.holdouts, limits::holdouts, parts::read_holdout);
  in.optional_list("traffic", out.traffic, limits::devices, parts::read_device_traffic);
  return in.finish(std::move(out));
}

Payload RestoreRequest::to_payload() const {
  return Payload({{"migration", migration.text()},
                  {"deadline_ms", deadline.count()},
                  {"devices", parts::list_json(devices)}});
}

Result<RestoreRequest> RestoreRequest::from_payload(const Payload& payload) {
  RestoreRequest out;
  FieldReader in(payload.json());
  in.migration("migration", out.migration);
  in.milliseconds("deadline_ms", out.deadline);
  parts::read_targets(in, out.devices);
  return in.finish(std::move(out));
}

Payload RestoreResult::to_payload() const {
  nlohmann::json out{{"devices", parts::list_json(devices)}, {"took_ms", took.count()}};
  if (!warnings.empty()) out["warnings"] = warnings;
  return Payload(std::move(out));
}

Result<RestoreResult> RestoreResult::from_payload(const Payload& payload) {
  RestoreResult out;
  FieldReader in(payload.json());
  in.list("devices", out.devices, limits::devices, parts::read_restored);
  in.milliseconds("took_ms", out.took);
  if (in.has("warnings")) in.texts("warnings", out.warnings, limits::warnings, limits::message_bytes);
  return in.finish(std::move(out));
}

Payload MissingPiece::to_payload() const {
  return Payload({{"missing", piece}, {"name", name}, {"alias", alias}});
}

Result<MissingPiece> MissingPiece::from_payload(const Payload& payload) {
  MissingPiece out;
  FieldReader in(payload.json());
  in.text("missing", out.piece, limits::name_bytes);
  in.text("name", out.name, limits::name_bytes);
  in.text("alias", out.alias, limits::name_bytes);
  return in.finish(std::move(out));
}

}  // namespace rdmove::protocol
