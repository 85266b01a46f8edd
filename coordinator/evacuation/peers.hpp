// Who of some VMs are at the two ends of RDMA connections: what their guests' agents say of their own
// addresses and of those at the other ends. It is the guests' word, so it only keeps VMs apart in time. Pure,
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "coordinator/base/types.hpp"

namespace rdmove::evacuation {

/// An IP address or a GID in 16 bytes, IPv4 as ::ffff:10.0.0.5: a RoCE v2 GID is its IP address so.
using Endpoint = std::array<std::uint8_t, 16>;

struct Conversation {
  std::set<Endpoint> own;
  std::set<Endpoint> remote;
};

/// From the agent's answers to `status` and `peers` (docs/agent-protocol.md). What cannot be read is left
/// out; so are loopback and unspecified addresses.
std::set<Endpoint> ownEndpoints(const std::string& status_json);
std::set<Endpoint> remoteEndpoints(const std::string& peers_json);

/// For each VM the others that it is connected to, in either direction. An address that several of them have,
/// as a link-local one may be, is nobody's.
std::map<DomainUuid, std::set<DomainUuid>> peersAmong(
    const std::map<DomainUuid, Conversation>& conversations);

}  // namespace rdmove::evacuation
