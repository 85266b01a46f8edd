// The packets that say where an address is now, for 6-byte (Ethernet) and 20-byte (IPoIB, RFC 4391)
// link-layer addresses. Pure functions; PacketAnnouncer sends them.
#pragma once

#include <array>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

enum class ArpOperation : std::uint16_t { Request = 1, Reply = 2 };

/// A gratuitous ARP packet without its link header.
Bytes gratuitous_arp(ArpOperation operation, const Bytes& own, const std::array<std::uint8_t, 4>& address);

/// An unsolicited neighbour advertisement (ICMPv6, its checksum left to the kernel) with the override flag.
Bytes neighbour_advertisement(const Bytes& own, const std::array<std::uint8_t, 16>& address);

}  // namespace rdmove::agent
