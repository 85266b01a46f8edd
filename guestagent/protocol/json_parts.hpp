// Parts that several messages share, to and from JSON. Internal to the protocol's .cpp files.
#pragma once

#include <nlohmann/json.hpp>

#include "guestagent/protocol/field_reader.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol::inline parts {  // inline, so that argument-dependent lookup finds it

inline nlohmann::json to_json(const GidEntry& gid) {
  return {{"index", gid.index}, {"gid", gid.gid}, {"type", gid.type}};
}
inline nlohmann::json to_json(const Holdout& holdout) {
  return {{"pid", holdout.pid}, {"name", holdout.name}, {"device", holdout.device}};
}
inline const char* identity_key(const DeviceIdentity& identity) {
  return std::holds_alternative<MacAddress>(identity) ? "mac" : "guid";
}
inline nlohmann::json to_json(const DeviceTarget& device) {
  return {{"alias", device.alias},
          {identity_key(device.identity), to_text(device.identity)},
          {"kind", to_text(device.kind)}};
}

template <class T>
nlohmann::json list_json(const std::vector<T>& items) {
  auto out = nlohmann::json::array();
  for (const auto& item : items) out.push_back(to_json(item));
  return out;
}

inline void read_gid(FieldReader& in, GidEntry& out) {
  in.integer("index", out.index);
  in.gid("gid", out.gid);
  in.text("type", out.type, limits::name_bytes);
}
inline void read_holdout(FieldReader& in, Holdout& out) {
  in.integer<std::int32_t>("pid", out.pid, 0);
  in.text("name", out.name, limits::name_bytes);
  in.text("device", out.device, limits::rdma_name_bytes);
}
inline void read_target(FieldReader& in, DeviceTarget& out) {
  in.text("alias", out.alias, limits::name_bytes);
  in.identity(out.identity);
  in.kind("kind", out.kind);
}

}  // namespace rdmove::protocol::inline parts
