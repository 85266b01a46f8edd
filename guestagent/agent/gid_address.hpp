// GIDs of RoCE are IP addresses: IPv4 ones mapped (::ffff:a.b.c.d).
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmove::agent {

using GidBytes = std::array<std::uint8_t, 16>;

/// Nothing for link-local ones, which name no interface, and for the empty one.
inline std::optional<boost::asio::ip::address> address_of(const GidBytes& gid) {
  const boost::asio::ip::address_v6 six(gid);
  if (six.is_v4_mapped()) return make_address_v4(boost::asio::ip::v4_mapped, six);
  if (six.is_link_local() || six.is_unspecified() || six.is_multicast()) return std::nullopt;
  return six;
}

inline GidBytes gid_of(const boost::asio::ip::address& address) {
  if (address.is_v6()) return address.to_v6().to_bytes();
  return make_address_v6(boost::asio::ip::v4_mapped, address.to_v4()).to_bytes();
}

inline std::string text_of_gid(const GidBytes& gid) {
  return boost::asio::ip::address_v6(gid).to_string();
}

}  // namespace rdmove::agent
