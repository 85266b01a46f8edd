// Parts that several messages share, to and from JSON. Internal to the protocol's .cpp files.
#pragma once

#include <nlohmann/json.hpp>

#include "guestagent/protocol/field_reader.hpp"
#include "guestagent/protocol/limits.hpp"
#include "guestagent/protocol/traffic.hpp"

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
  nlohmann::json out{{"alias", device.alias},
                     {identity_key(device.identity), to_text(device.identity)},
                     {"kind", to_text(device.kind)}};
  if (device.may_have_new_gids) out["may_have_new_gids"] = true;
  return out;
}
inline nlohmann::json to_json(const SubnetPort& port) {
  return {{"lid", port.lid}, {"pkeys", port.pkeys}, {"gids", port.gids}};
}

inline void add_traffic(nlohmann::json& to, const PortTraffic& traffic) {
  to["data_of"] = traffic.data_of;
  to["traffic"] = traffic.values;
}
inline nlohmann::json to_json(const DeviceTraffic& device) {
  nlohmann::json out{{"rdma", device.rdma}, {"port", device.port}};
  add_traffic(out, device.traffic);
  return out;
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
  in.optional_boolean("may_have_new_gids", out.may_have_new_gids);
}
inline void read_subnet_port(FieldReader& in, SubnetPort& out) {
  in.integer("lid", out.lid);
  in.integers("pkeys", out.pkeys, limits::pkeys);
  in.gids("gids", out.gids, limits::gids);
}

// An agent of before has none of it.
inline void read_port_traffic(FieldReader& in, PortTraffic& out) {
  if (in.has("data_of")) in.text("data_of", out.data_of, limits::name_bytes);
  if (in.has("traffic")) in.counters("traffic", out.values, limits::traffic);
}
inline void read_device_traffic(FieldReader& in, DeviceTraffic& out) {
  in.text("rdma", out.rdma, limits::rdma_name_bytes);
  in.integer("port", out.port);
  read_port_traffic(in, out.traffic);
}

}  // namespace rdmove::protocol::inline parts
