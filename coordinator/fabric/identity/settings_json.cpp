// The journal's form of a VF's settings: {"mac":"52:…","vlan":{"id":7,"priority":0,"protocol":"802.1Q"},
// "trust":true,"spoof_check":false,"rates":{"min":0,"max":100},"node_guid":"00:…","port_guid":"00:…",
// "partitions":[0,null],"link":"auto","driver":"mlx5_core"}. docs/journal.md names it.
#include <nlohmann/json.hpp>

#include "coordinator/fabric/identity/settings.hpp"

namespace rdmove::fabric {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestText = 64U << 10;

/// Throws out_of_range, as nlohmann does for a field that is missing.
template <class Value>
Value known(const std::optional<Value>& value, const json& told) {
  if (!value) throw std::out_of_range("a value is " + told.dump());
  return *value;
}

VlanTag readVlan(const json& in) {
  const json& protocol = in.at("protocol");
  return {in.at("id").get<int>(), in.at("priority").get<int>(),
          known(parseVlanProtocol(protocol.get<std::string>()), protocol)};
}

PartitionSlots readSlots(const json& in) {
  PartitionSlots slots;
  for (const json& slot : in) {
    if (!slot.is_null() && !slot.is_number_unsigned()) throw std::out_of_range("a slot is " + slot.dump());
    slots.push_back(slot.is_null() ? std::nullopt : std::optional<unsigned>(slot.get<unsigned>()));
  }
  return slots;
}

VfSettings readAll(const json& in) {
  VfSettings out;
  for (const auto& [name, value] : in.items()) {
    if (name == "mac")
      out.mac = known(MacAddress::parse(value.get<std::string>()), value);
    else if (name == "vlan")
      out.vlan = readVlan(value);
    else if (name == "trust")
      out.trust = value.get<bool>();
    else if (name == "spoof_check")
      out.spoof_check = value.get<bool>();
    else if (name == "rates")
      out.rates = Rates{value.at("min").get<unsigned>(), value.at("max").get<unsigned>()};
    else if (name == "node_guid")
      out.node_guid = known(Guid::read(value.get<std::string>()), value);
    else if (name == "port_guid")
      out.port_guid = known(Guid::read(value.get<std::string>()), value);
    else if (name == "partitions")
      out.partitions = readSlots(value);
    else if (name == "link")
      out.link = known(parseLinkPolicy(value.get<std::string>()), value);
    else if (name == "driver")
      out.driver = value.get<std::string>();
    else
      throw std::out_of_range("there is no field " + name);
  }
  return out;
}

}  // namespace

std::string toJson(const VfSettings& settings) {
  json out = json::object();
  if (settings.mac) out["mac"] = settings.mac->str();
  if (settings.vlan) {
    out["vlan"] = {{"id", settings.vlan->id},
                   {"priority", settings.vlan->priority},
                   {"protocol", std::string(toString(settings.vlan->protocol))}};
  }
  if (settings.trust) out["trust"] = *settings.trust;
  if (settings.spoof_check) out["spoof_check"] = *settings.spoof_check;
  if (settings.rates) out["rates"] = {{"min", settings.rates->min_mbit}, {"max", settings.rates->max_mbit}};
  if (settings.node_guid) out["node_guid"] = settings.node_guid->str();
  if (settings.port_guid) out["port_guid"] = settings.port_guid->str();
  if (settings.partitions) {
    json slots = json::array();
    for (const auto& slot : *settings.partitions) slots.push_back(slot ? json(*slot) : json());
    out["partitions"] = std::move(slots);
  }
  if (settings.link) out["link"] = std::string(toString(*settings.link));
  if (settings.driver) out["driver"] = *settings.driver;
  return out.dump();
}

Result<VfSettings> settingsFromJson(const std::string& text) {
  try {
    if (text.size() > kLargestText) throw std::out_of_range("it is larger than 64 KiB");
    const json document = json::parse(text);
    if (!document.is_object()) throw std::out_of_range("it is no object");
    return readAll(document);
  } catch (const std::exception& error) {
    return failure(ErrorCode::kBadInput, "read what a VF was before", error.what(),
                   "The journal was changed by hand, or by a newer rdmove.");
  }
}

}  // namespace rdmove::fabric
