// A server's answers for tests: made from the question, with the options that a test wants.
#pragma once

#include "guestagent/agent/dhcp/message.hpp"
#include "guestagent/tests/hex.hpp"

namespace rdmove::agent::test {

inline const auto ethernet_address = from_hex("52:54:00:00:00:01");
inline const auto ipoib_address = from_hex("80:00:02:08 fe:80:00:00:00:00:00:00 00:02:c9:03:00:0a:1b:2c");
inline const auto server_option = from_hex("36 04 0a000001");
inline const auto lease_option = from_hex("33 04 00000e10");  // an hour

inline Bytes answer(const Bytes& query, std::uint8_t type, const std::string& address, const Bytes& options) {
  Bytes out(query.begin(), query.begin() + 240);
  out[0] = 2;
  const auto bytes = boost::asio::ip::make_address_v4(address).to_bytes();
  std::copy(bytes.begin(), bytes.end(), out.begin() + 16);
  out.insert(out.end(), {53, 1, type});
  out.insert(out.end(), options.begin(), options.end());
  out.push_back(255);
  return out;
}

inline Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// The value of an option of a question; empty if it is not there.
inline Bytes option(const Bytes& message, std::uint8_t code) {
  for (std::size_t at = 240; at + 1 < message.size() && message[at] != 255; at += 2U + message[at + 1]) {
    const auto begin = message.begin() + static_cast<long>(at) + 2;
    if (message[at] == code) return {begin, begin + message[at + 1]};
  }
  return {};
}

}  // namespace rdmove::agent::test
