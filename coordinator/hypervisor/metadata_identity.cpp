// The <identity> of a <vf>: every attribute is checked, nothing is guessed.
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "coordinator/hypervisor/metadata_parts.hpp"

namespace rdmove::metadata {
namespace {

constexpr unsigned kFastest = 1'000'000;  // Mbit/s

tl::unexpected<Error> wrong(const pugi::xml_attribute& attribute, std::string_view wanted) {
  return bad(fmt::format("attribute '{}' of <identity> is '{}', not {}", attribute.name(),
                         std::string_view(attribute.value()).substr(0, 64), wanted));
}

template <class Number>
Result<std::optional<Number>> readNumber(const pugi::xml_node& node, const char* name, Number least,
                                         Number most) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return std::nullopt;
  const std::string_view text = attribute.value();
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return wrong(attribute, fmt::format("{}..{}", least, most));
  return std::optional<Number>(value);
}

Result<std::optional<bool>> readSwitch(const pugi::xml_node& node, const char* name) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return std::nullopt;
  const std::string_view text = attribute.value();
  if (text != "on" && text != "off") return wrong(attribute, "on or off");
  return std::optional<bool>(text == "on");
}

Result<std::optional<Guid>> readGuid(const pugi::xml_node& node, const char* name) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return std::nullopt;
  const auto guid = Guid::parse(attribute.value());
  if (!guid) return bad(fmt::format("attribute '{}' of <identity>: {}", name, guid.error().cause));
  return std::optional<Guid>(*guid);
}

Result<std::vector<PartitionKey>> readPartitionKeys(const pugi::xml_node& node) {
  auto keys = parsePartitionKeys(node.attribute("pkeys").value());
  if (!keys) return bad(fmt::format("attribute 'pkeys' of <identity>: {}", keys.error().cause));
  return keys;
}

template <class Value>
Result<std::optional<Value>> readWord(const pugi::xml_node& node, const char* name, const char* words,
                                      std::optional<Value> (*parse)(std::string_view)) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return std::nullopt;
  const auto value = parse(attribute.value());
  if (!value) return wrong(attribute, words);
  return value;
}

Result<std::optional<MacAddress>> readMac(const pugi::xml_node& node) {
  const pugi::xml_attribute attribute = node.attribute("mac");
  if (!attribute) return std::nullopt;
  const auto mac = MacAddress::parse(attribute.value());
  if (!mac || *mac == MacAddress{} || (mac->bytes()[0] & 1) != 0)
    return wrong(attribute, "a unicast MAC like 52:54:00:12:34:56");
  return mac;
}

/// Takes the value over, or keeps the first error.
template <class Value>
void take(Result<Value> read, Value& into, Result<void>& so_far) {
  if (!so_far) return;
  if (read)
    into = std::move(*read);
  else
    so_far = tl::unexpected(read.error());
}

void append(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(value.c_str());
}

template <class Number>
void appendNumber(pugi::xml_node node, const char* name, const std::optional<Number>& value) {
  if (value) append(node, name, std::to_string(*value));
}

void appendSwitch(pugi::xml_node node, const char* name, const std::optional<bool>& value) {
  if (value) append(node, name, *value ? "on" : "off");
}

}  // namespace

Result<Identity> readIdentity(const pugi::xml_node& node) {
  Result<void> ok =
      checkAttributes(node,
                      {"mac", "vlan", "vlan-priority", "vlan-protocol", "node-guid", "port-guid", "pkeys",
                       "trust", "spoof-check", "link", "min-rate", "max-rate"},
                      Unknown::kRefused);
  Identity identity;
  take(readMac(node), identity.mac, ok);
  take(readNumber(node, "vlan", 1, 4094), identity.vlan, ok);
  take(readNumber(node, "vlan-priority", 0, 7), identity.vlan_priority, ok);
  take(readWord(node, "vlan-protocol", "802.1Q or 802.1ad", &parseVlanProtocol), identity.vlan_protocol, ok);
  take(readGuid(node, "node-guid"), identity.node_guid, ok);
  take(readGuid(node, "port-guid"), identity.port_guid, ok);
  take(readPartitionKeys(node), identity.pkeys, ok);
  take(readSwitch(node, "trust"), identity.trust, ok);
  take(readSwitch(node, "spoof-check"), identity.spoof_check, ok);
  take(readWord(node, "link", "auto, enable or disable", &parseLinkPolicy), identity.link, ok);
  take(readNumber(node, "min-rate", 0U, kFastest), identity.min_rate, ok);
  take(readNumber(node, "max-rate", 0U, kFastest), identity.max_rate, ok);
  if (!ok) return tl::unexpected(ok.error());
  if ((identity.vlan_priority || identity.vlan_protocol) && !identity.vlan)
    return bad("<identity> has a VLAN priority or protocol, and no attribute 'vlan'");
  return identity;
}

void writeIdentity(pugi::xml_node vf, const Identity& identity) {
  if (identity == Identity{}) return;
  pugi::xml_node node = vf.append_child("identity");
  if (identity.mac) append(node, "mac", identity.mac->str());
  appendNumber(node, "vlan", identity.vlan);
  appendNumber(node, "vlan-priority", identity.vlan_priority);
  if (identity.vlan_protocol) append(node, "vlan-protocol", std::string(toString(*identity.vlan_protocol)));
  if (identity.node_guid) append(node, "node-guid", identity.node_guid->str());
  if (identity.port_guid) append(node, "port-guid", identity.port_guid->str());
  if (!identity.pkeys.empty()) append(node, "pkeys", toString(identity.pkeys));
  appendSwitch(node, "trust", identity.trust);
  appendSwitch(node, "spoof-check", identity.spoof_check);
  if (identity.link) append(node, "link", std::string(toString(*identity.link)));
  appendNumber(node, "min-rate", identity.min_rate);
  appendNumber(node, "max-rate", identity.max_rate);
}

}  // namespace rdmove::metadata
