#include "coordinator/migration/identity_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace rdmove::plan_json {
namespace {

using nlohmann::json;

constexpr std::int64_t kFastest = 1'000'000;  // Mbit/s

std::optional<Guid> readGuid(Object& in, const char* field) {
  const auto text = in.optionalText(field);
  if (!text) return std::nullopt;
  const auto guid = Guid::parse(*text);
  if (!guid) in.fail(field, guid.error().cause);
  return *guid;
}

template <class Value>
std::optional<Value> readWord(Object& in, const char* field,
                              std::optional<Value> (*parse)(std::string_view)) {
  const auto text = in.optionalText(field);
  if (!text) return std::nullopt;
  const auto value = parse(*text);
  if (!value) in.fail(field, fmt::format("\"{}\" is not known", *text));
  return value;
}

std::optional<bool> readSwitch(Object& in, const char* field) {
  return readWord<bool>(in, field, [](std::string_view text) {
    return text == "on" || text == "off" ? std::optional<bool>(text == "on") : std::nullopt;
  });
}

template <class Number>
void readNumber(Object& in, const char* field, std::int64_t least, std::int64_t most,
                std::optional<Number>& into) {
  if (const auto number = in.optionalNumber(field, least, most)) into = static_cast<Number>(*number);
}

std::vector<PartitionKey> readPartitionKeys(Object& in) {
  auto keys = parsePartitionKeys(in.optionalText("pkeys").value_or(""));
  if (!keys) in.fail("pkeys", keys.error().cause);
  return std::move(*keys);
}

template <class Value>
void put(json& out, const char* field, const std::optional<Value>& value) {
  if (value) out[field] = *value;
}

void putSwitch(json& out, const char* field, const std::optional<bool>& value) {
  if (value) out[field] = *value ? "on" : "off";
}

template <class Value>
void putWord(json& out, const char* field, const std::optional<Value>& value) {
  if (value) out[field] = std::string(toString(*value));
}

}  // namespace

json identityJson(const Identity& identity) {
  json out = json::object();
  if (identity.mac) out["mac"] = identity.mac->str();
  put(out, "vlan", identity.vlan);
  put(out, "vlan_priority", identity.vlan_priority);
  putWord(out, "vlan_protocol", identity.vlan_protocol);
  if (identity.node_guid) out["node_guid"] = identity.node_guid->str();
  if (identity.port_guid) out["port_guid"] = identity.port_guid->str();
  if (!identity.pkeys.empty()) out["pkeys"] = toString(identity.pkeys);
  putSwitch(out, "trust", identity.trust);
  putSwitch(out, "spoof_check", identity.spoof_check);
  putWord(out, "link", identity.link);
  put(out, "min_rate", identity.min_rate);
  put(out, "max_rate", identity.max_rate);
  return out;
}

Identity readIdentity(Object in) {
  Identity identity;
  if (const auto mac = in.optionalText("mac")) {
    identity.mac = MacAddress::parse(*mac);
    if (!identity.mac) in.fail("mac", fmt::format("expected a MAC address, found \"{}\"", *mac));
  }
  readNumber(in, "vlan", 1, 4094, identity.vlan);
  readNumber(in, "vlan_priority", 0, 7, identity.vlan_priority);
  identity.vlan_protocol = readWord(in, "vlan_protocol", &parseVlanProtocol);
  identity.node_guid = readGuid(in, "node_guid");
  identity.port_guid = readGuid(in, "port_guid");
  identity.pkeys = readPartitionKeys(in);
  identity.trust = readSwitch(in, "trust");
  identity.spoof_check = readSwitch(in, "spoof_check");
  identity.link = readWord(in, "link", &parseLinkPolicy);
  readNumber(in, "min_rate", 0, kFastest, identity.min_rate);
  readNumber(in, "max_rate", 0, kFastest, identity.max_rate);
  in.rejectUnknown();
  return identity;
}

}  // namespace rdmove::plan_json
