#include "guestagent/agent/announcement.hpp"

namespace rdmove::agent {
namespace {

constexpr std::size_t ipoib_bytes = 20;
constexpr std::array<std::uint8_t, 16> all_nodes_address{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

void put16(Bytes& out, std::size_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

template <class Part>
void put(Bytes& out, const Part& part) {
  out.insert(out.end(), part.begin(), part.end());
}

// Of an even number of bytes.
std::uint16_t checksum(const Bytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    sum += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

Bytes gratuitous_arp(ArpOperation operation, const Bytes& own, const std::array<std::uint8_t, 4>& address) {
  constexpr std::uint16_t ethernet = 1;
  constexpr std::uint16_t infiniband = 32;
  constexpr std::uint16_t ipv4 = 0x0800;
  Bytes out;
  put16(out, own.size() == ipoib_bytes ? infiniband : ethernet);
  put16(out, ipv4);
  out.push_back(static_cast<std::uint8_t>(own.size()));
  out.push_back(address.size());
  put16(out, static_cast<std::uint16_t>(operation));
  put(out, own);
  put(out, address);
  put(out, operation == ArpOperation::Reply ? own : Bytes(own.size(), 0));
  put(out, address);
  return out;
}

// RFC 4861, 4.4. The option's length counts in 8 bytes: 1 for a MAC; 3 for an IPoIB address, with two bytes
// of padding before it (RFC 4391, 9.3).
Bytes neighbour_advertisement(const Bytes& own, const std::array<std::uint8_t, 16>& address) {
  constexpr std::uint8_t icmpv6 = 58;
  constexpr std::uint8_t advertisement = 136;
  constexpr std::uint8_t override_flag = 0x20;
  constexpr std::uint8_t target_link_layer_address = 2;
  constexpr std::uint8_t hop_limit = 255;
  const std::size_t padding = own.size() == ipoib_bytes ? 2 : 0;
  Bytes icmp{advertisement, 0, 0, 0, override_flag, 0, 0, 0};
  put(icmp, address);
  icmp.push_back(target_link_layer_address);
  icmp.push_back(static_cast<std::uint8_t>((2 + padding + own.size()) / 8));
  icmp.insert(icmp.end(), padding, 0);
  put(icmp, own);

  Bytes pseudo;  // the addresses, length and protocol, which the checksum covers too
  put(pseudo, address);
  put(pseudo, all_nodes_address);
  put16(pseudo, 0);
  put16(pseudo, icmp.size());
  put16(pseudo, 0);
  put16(pseudo, icmpv6);
  put(pseudo, icmp);
  const auto sum = checksum(pseudo);
  icmp[2] = static_cast<std::uint8_t>(sum >> 8);
  icmp[3] = static_cast<std::uint8_t>(sum);

  Bytes out{0x60, 0, 0, 0};
  put16(out, icmp.size());
  out.push_back(icmpv6);
  out.push_back(hop_limit);
  put(out, address);
  put(out, all_nodes_address);
  put(out, icmp);
  return out;
}

// RFC 2464 and RFC 4391, 4: on InfiniBand scope and P_Key are those of the broadcast group.
Bytes all_nodes(const Bytes& broadcast) {
  if (broadcast.size() != ipoib_bytes) return {0x33, 0x33, 0, 0, 0, 1};
  const auto scope = static_cast<std::uint8_t>(0x10 | (broadcast[5] & 0xf));
  Bytes out{0, 0xff, 0xff, 0xff, 0xff, scope, 0x60, 0x1b, broadcast[8], broadcast[9]};
  out.insert(out.end(), all_nodes_address.begin() + 6, all_nodes_address.end());
  return out;
}

}  // namespace rdmove::agent
