// The packets that say where an address is now, for 6-byte (Ethernet) and 20-byte (IPoIB, RFC 4391)
// link-layer addresses. Pure functions; PacketAnnouncer sends them.
#pragma once

#include <array>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

enum class ArpOperation : std::uint16_t { Request = 1, Reply = 2 };

/// A gratuitous ARP packet without its link header.
Bytes gratuitous_arp(ArpOperation operation, const Bytes& own, const std::array<std::uint8_t, 4>& address);

/// An unsolicited neighbour advertisement to all nodes, with the override flag: an IPv6 packet. Made whole,
/// since a socket that leaves its header to the kernel needs a multicast route, which comes only some time
/// after the carrier.
Bytes neighbour_advertisement(const Bytes& own, const std::array<std::uint8_t, 16>& address);

/// The link-layer address of ff02::1, on a link with this broadcast address.
Bytes all_nodes(const Bytes& broadcast);

}  // namespace rdmove::agent
