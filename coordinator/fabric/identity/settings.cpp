#include "coordinator/fabric/identity/settings.hpp"

#include <fmt/format.h>

namespace rdmove::fabric {
namespace {

/// Calls `with` with the member that the field names.
template <class With>
auto onMember(Field field, With with) {
  switch (field) {
    case Field::kMac:
      return with(&VfSettings::mac);
    case Field::kVlan:
      return with(&VfSettings::vlan);
    case Field::kTrust:
      return with(&VfSettings::trust);
    case Field::kSpoofCheck:
      return with(&VfSettings::spoof_check);
    case Field::kRates:
      return with(&VfSettings::rates);
    case Field::kNodeGuid:
      return with(&VfSettings::node_guid);
    case Field::kPortGuid:
      return with(&VfSettings::port_guid);
    case Field::kPartitions:
      return with(&VfSettings::partitions);
    case Field::kLink:
      break;
  }
  return with(&VfSettings::link);
}

std::string text(const MacAddress& mac) {
  return mac == MacAddress{} ? "no MAC" : "MAC " + mac.str();
}
std::string text(const VlanTag& vlan) {
  if (vlan == VlanTag{}) return "no VLAN";
  std::string words = fmt::format("VLAN {}", vlan.id);
  if (vlan.priority != 0) words += fmt::format(" priority {}", vlan.priority);
  if (vlan.protocol != VlanProtocol::k8021Q) words += fmt::format(" {}", toString(vlan.protocol));
  return words;
}
std::string text(const Rates& rates) {
  return fmt::format("rates {} to {} Mbit/s", rates.min_mbit, rates.max_mbit);
}
std::string slotsText(const PartitionSlots& slots) {
  std::string words;
  for (const auto& slot : slots) {
    if (!words.empty()) words += ' ';
    words += slot ? std::to_string(*slot) : "none";
  }
  return words;
}
std::string text(const PartitionSlots& slots) {
  return "P_Key slots " + slotsText(slots);
}

}  // namespace

const char* nameOf(Field field) {
  switch (field) {
    case Field::kMac:
      return "MAC";
    case Field::kVlan:
      return "VLAN";
    case Field::kTrust:
      return "trust";
    case Field::kSpoofCheck:
      return "spoof check";
    case Field::kRates:
      return "rates";
    case Field::kNodeGuid:
      return "node GUID";
    case Field::kPortGuid:
      return "port GUID";
    case Field::kPartitions:
      return "P_Keys";
    case Field::kLink:
      return "link state";
  }
  return "unknown";
}

bool has(const VfSettings& settings, Field field) {
  return onMember(field, [&](auto member) { return (settings.*member).has_value(); });
}

bool same(Field field, const VfSettings& a, const VfSettings& b) {
  return onMember(field, [&](auto member) { return a.*member == b.*member; });
}

void copy(Field field, const VfSettings& from, VfSettings& into) {
  onMember(field, [&](auto member) { into.*member = from.*member; });
}

std::string show(Field field, const VfSettings& settings) {
  if (!has(settings, field)) return fmt::format("{} not told", nameOf(field));
  switch (field) {
    case Field::kMac:
      return text(*settings.mac);
    case Field::kVlan:
      return text(*settings.vlan);
    case Field::kTrust:
      return *settings.trust ? "trust on" : "trust off";
    case Field::kSpoofCheck:
      return *settings.spoof_check ? "spoof check on" : "spoof check off";
    case Field::kRates:
      return text(*settings.rates);
    case Field::kNodeGuid:
      return "node GUID " + settings.node_guid->str();
    case Field::kPortGuid:
      return "port GUID " + settings.port_guid->str();
    case Field::kPartitions:
      return text(*settings.partitions);
    case Field::kLink:
      break;
  }
  return fmt::format("link state {}", toString(*settings.link));
}

std::vector<std::pair<std::string, std::string>> wordsOf(const VfSettings& settings) {
  std::vector<std::pair<std::string, std::string>> words;
  const auto onOff = [](bool on) { return std::string(on ? "on" : "off"); };
  if (settings.mac) words.emplace_back("mac", *settings.mac == MacAddress{} ? "none" : settings.mac->str());
  if (settings.vlan)
    words.emplace_back("vlan", settings.vlan->id == 0 ? "none" : std::to_string(settings.vlan->id));
  if (settings.vlan && settings.vlan->id != 0) {
    words.emplace_back("vlan-priority", std::to_string(settings.vlan->priority));
    words.emplace_back("vlan-protocol", std::string(toString(settings.vlan->protocol)));
  }
  if (settings.node_guid) words.emplace_back("node-guid", settings.node_guid->str());
  if (settings.port_guid) words.emplace_back("port-guid", settings.port_guid->str());
  if (settings.partitions) words.emplace_back("pkey-slots", slotsText(*settings.partitions));
  if (settings.trust) words.emplace_back("trust", onOff(*settings.trust));
  if (settings.spoof_check) words.emplace_back("spoof-check", onOff(*settings.spoof_check));
  if (settings.link) words.emplace_back("link", std::string(toString(*settings.link)));
  if (settings.rates) {
    words.emplace_back("min-rate", std::to_string(settings.rates->min_mbit));
    words.emplace_back("max-rate", std::to_string(settings.rates->max_mbit));
  }
  return words;
}

VfSettings settingsOf(const Identity& identity) {
  VfSettings settings;
  settings.mac = identity.mac;
  if (identity.vlan) {
    settings.vlan = VlanTag{*identity.vlan, identity.vlan_priority.value_or(0),
                            identity.vlan_protocol.value_or(VlanProtocol::k8021Q)};
  }
  settings.trust = identity.trust;
  settings.spoof_check = identity.spoof_check;
  if (identity.min_rate || identity.max_rate)
    settings.rates = Rates{identity.min_rate.value_or(0), identity.max_rate.value_or(0)};
  settings.node_guid = identity.node_guid;
  settings.port_guid = identity.port_guid;
  settings.link = identity.link;
  return settings;
}

}  // namespace rdmove::fabric
