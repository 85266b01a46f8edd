#include "coordinator/service/convert_identity.hpp"

#include <fmt/format.h>

namespace rdmove {
namespace {

constexpr unsigned kFastest = 1'000'000;  // Mbit/s
constexpr int kMostPartitionKeys = 128;

tl::unexpected<Error> bad(const std::string& field) {
  return failure(ErrorCode::kBadInput, "read the partner's request", "its field " + field + " is not valid",
                 "Install the same version of rdmove on both hosts.");
}

/// False when there is a text and it is no value.
template <class Value, class Parse>
bool readText(const std::string& text, std::optional<Value>& into, Parse parse) {
  if (text.empty()) return true;
  const auto value = parse(text);
  if (!value) return false;
  into = *value;
  return true;
}

}  // namespace

void fillIdentity(const Identity& identity, v1::PartnerVf& message) {
  if (identity.mac) message.set_mac(identity.mac->str());
  if (identity.vlan) message.set_vlan(static_cast<unsigned>(*identity.vlan));
  if (identity.vlan_priority) message.set_vlan_priority(static_cast<unsigned>(*identity.vlan_priority));
  if (identity.vlan_protocol) message.set_vlan_protocol(std::string(toString(*identity.vlan_protocol)));
  if (identity.node_guid) message.set_node_guid(identity.node_guid->str());
  if (identity.port_guid) message.set_port_guid(identity.port_guid->str());
  for (const PartitionKey& key : identity.pkeys) message.add_pkeys(key.value());
  if (identity.trust) message.set_trust(*identity.trust);
  if (identity.spoof_check) message.set_spoof_check(*identity.spoof_check);
  if (identity.link) message.set_link(std::string(toString(*identity.link)));
  if (identity.min_rate) message.set_min_rate_mbit(*identity.min_rate);
  if (identity.max_rate) message.set_max_rate_mbit(*identity.max_rate);
}

Result<Identity> identityOf(const v1::PartnerVf& message) {
  Identity identity;
  if (!readText(message.mac(), identity.mac, &MacAddress::parse)) return bad("mac");
  if (message.vlan() > 4094) return bad("vlan");
  if (message.vlan() > 0) identity.vlan = static_cast<int>(message.vlan());
  if (message.has_vlan_priority()) {
    if (message.vlan_priority() > 7) return bad("vlan_priority");
    identity.vlan_priority = static_cast<int>(message.vlan_priority());
  }
  if (!readText(message.vlan_protocol(), identity.vlan_protocol, &parseVlanProtocol))
    return bad("vlan_protocol");
  if (!readText(message.node_guid(), identity.node_guid, &Guid::parse)) return bad("node_guid");
  if (!readText(message.port_guid(), identity.port_guid, &Guid::parse)) return bad("port_guid");
  if (message.pkeys_size() > kMostPartitionKeys) return bad("pkeys");
  for (const std::uint32_t key : message.pkeys()) {
    const auto parsed = PartitionKey::parse(fmt::format("0x{:x}", key));
    if (!parsed) return bad("pkeys");
    identity.pkeys.push_back(*parsed);
  }
  if (message.has_trust()) identity.trust = message.trust();
  if (message.has_spoof_check()) identity.spoof_check = message.spoof_check();
  if (!readText(message.link(), identity.link, &parseLinkPolicy)) return bad("link");
  if (message.min_rate_mbit() > kFastest) return bad("min_rate_mbit");
  if (message.max_rate_mbit() > kFastest) return bad("max_rate_mbit");
  if (message.has_min_rate_mbit()) identity.min_rate = message.min_rate_mbit();
  if (message.has_max_rate_mbit()) identity.max_rate = message.max_rate_mbit();
  return identity;
}

}  // namespace rdmove
