// DHCPv4 messages (RFC 2131, 2132; for InfiniBand RFC 4390), as far as an address that was already ours is
// asked for again. Pure functions. What is parsed comes from anyone on the link: every length is checked, and
// what is odd is dropped whole.
#pragma once

#include <boost/asio/ip/address_v4.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent::dhcp {

using Ipv4 = boost::asio::ip::address_v4;

enum class Type : std::uint8_t { Discover = 1, Offer = 2, Request = 3, Ack = 5, Nak = 6 };

/// As whom we ask.
struct Client {
  Bytes hardware;    // the link's address: 6 bytes on Ethernet, 20 on InfiniBand
  Bytes identifier;  // option 61; empty: none is sent
};

struct Query {
  Type type = Type::Request;
  std::uint32_t transaction = 0;
  std::uint16_t elapsed_seconds = 0;
  std::optional<Ipv4> address;  // option 50
  std::optional<Ipv4> server;   // option 54
};

struct Reply {
  Type type = Type::Ack;
  Ipv4 address;
  std::optional<Ipv4> server;
  std::optional<Ipv4> router;
  std::optional<int> prefix;  // bits of the subnet mask
  std::optional<std::chrono::seconds> lease;
  bool operator==(const Reply&) const = default;
};

Bytes to_bytes(const Client& client, const Query& query);

/// None: not an answer to this client's transaction, or malformed.
std::optional<Reply> parse_reply(std::span<const std::uint8_t> bytes, const Client& client,
                                 std::uint32_t transaction);

/// Option 61 of a stored answer (dhcpcd keeps its lease so), if it is one and leases `address`.
std::optional<Bytes> identifier_in(std::span<const std::uint8_t> stored, const Ipv4& address);

/// What Linux clients send on IPoIB: an IAID of zero and a DUID made of the port GUID.
Bytes infiniband_identifier(const protocol::PortGuid& guid);

}  // namespace rdmove::agent::dhcp
