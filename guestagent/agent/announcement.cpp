#include "guestagent/agent/announcement.hpp"

namespace rdmove::agent {
namespace {

constexpr std::size_t ipoib_bytes = 20;

void put16(Bytes& out, std::size_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

template <class Part>
void put(Bytes& out, const Part& part) {
  out.insert(out.end(), part.begin(), part.end());
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

// The option's length counts in 8 bytes: 1 for a MAC; 3 for an IPoIB address, with two bytes of padding
// before it (RFC 4391, 9.3).
Bytes neighbour_advertisement(const Bytes& own, const std::array<std::uint8_t, 16>& address) {
  constexpr std::uint8_t advertisement = 136;
  constexpr std::uint8_t override_flag = 0x20;
  constexpr std::uint8_t target_link_layer_address = 2;
  const std::size_t padding = own.size() == ipoib_bytes ? 2 : 0;
  Bytes out{advertisement, 0, 0, 0, override_flag, 0, 0, 0};
  put(out, address);
  out.push_back(target_link_layer_address);
  out.push_back(static_cast<std::uint8_t>((2 + padding + own.size()) / 8));
  out.insert(out.end(), padding, 0);
  put(out, own);
  return out;
}

}  // namespace rdmove::agent
