// DHCP's IPv4 and UDP headers. A packet socket carries them, not the kernel's UDP: that would refuse port 68
// while the guest's own client has it, send from 0.0.0.0 only without an address, and lose answers to a
// firewall or to rp_filter. Pure functions; what is parsed comes from anyone.
#pragma once

#include <cstdint>
#include <span>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent::dhcp {

/// From 0.0.0.0:68 to 255.255.255.255:67.
Bytes to_packet(const Bytes& message);

/// What a server sent to port 68; empty if the packet is anything else. A view into `packet`.
std::span<const std::uint8_t> message_in(std::span<const std::uint8_t> packet);

}  // namespace rdmove::agent::dhcp
