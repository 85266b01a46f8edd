#include "coordinator/evacuation/peers.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace rdmove::evacuation {
namespace {

using nlohmann::json;

bool isNobodys(const Endpoint& endpoint) {
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), endpoint.begin()))
    return endpoint[12] == 127 || endpoint[12] == 0;
  // :: and ::1
  return std::all_of(endpoint.begin(), endpoint.end() - 1, [](std::uint8_t byte) { return byte == 0; }) &&
         endpoint.back() <= 1;
}

/// "10.0.0.5/24", "fe80::1", "0000:0000:…": the form of inet_pton, with or without a prefix length.
std::optional<Endpoint> parse(const std::string& text) {
  const std::string address = text.substr(0, text.find('/'));
  Endpoint endpoint{};
  if (inet_pton(AF_INET, address.c_str(), endpoint.data() + 12) == 1) {
    endpoint[10] = endpoint[11] = 0xff;
  } else if (inet_pton(AF_INET6, address.c_str(), endpoint.data()) != 1) {
    return std::nullopt;
  }
  return isNobodys(endpoint) ? std::nullopt : std::optional(endpoint);
}

void add(std::set<Endpoint>& to, const json& text) {
  if (!text.is_string()) return;
  if (const auto endpoint = parse(text.get<std::string>())) to.insert(*endpoint);
}

/// The list below `key`, or an empty one: what a guest says may be anything.
const json& listOf(const json& object, const char* key) {
  static const json kNone = json::array();
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

}  // namespace

std::set<Endpoint> ownEndpoints(const std::string& status_json) {
  std::set<Endpoint> own;
  const json status = json::parse(status_json, nullptr, false);
  for (const json& device : listOf(status, "devices")) {
    for (const json& address : listOf(device, "addresses")) add(own, address);
    for (const json& gid : listOf(device, "gids")) {
      if (gid.is_object() && gid.contains("gid")) add(own, gid["gid"]);
    }
  }
  return own;
}

std::set<Endpoint> remoteEndpoints(const std::string& peers_json) {
  std::set<Endpoint> remote;
  const json peers = json::parse(peers_json, nullptr, false);
  for (const json& address : listOf(peers, "peers")) add(remote, address);
  return remote;
}

std::map<DomainUuid, std::set<DomainUuid>> peersAmong(
    const std::map<DomainUuid, Conversation>& conversations) {
  std::map<Endpoint, std::set<DomainUuid>> owners;
  for (const auto& [uuid, conversation] : conversations) {
    for (const Endpoint& endpoint : conversation.own) owners[endpoint].insert(uuid);
  }
  std::map<DomainUuid, std::set<DomainUuid>> peers;
  for (const auto& [uuid, conversation] : conversations) {
    for (const Endpoint& endpoint : conversation.remote) {
      const auto owner = owners.find(endpoint);
      if (owner == owners.end() || owner->second.size() != 1) continue;
      const DomainUuid& other = *owner->second.begin();
      if (other == uuid) continue;
      peers[uuid].insert(other);
      peers[other].insert(uuid);
    }
  }
  return peers;
}

}  // namespace rdmove::evacuation
