#include "guestagent/agent/dhcp/udp.hpp"

#include <algorithm>
#include <array>

namespace rdmove::agent::dhcp {
namespace {

constexpr std::size_t ip_bytes = 20;
constexpr std::size_t udp_bytes = 8;
constexpr std::uint8_t udp_protocol = 17;
constexpr std::uint16_t client_port = 68;
constexpr std::uint16_t server_port = 67;

void put16(Bytes& out, std::size_t at, std::size_t value) {
  out[at] = static_cast<std::uint8_t>(value >> 8);
  out[at + 1] = static_cast<std::uint8_t>(value);
}

std::uint16_t get16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

std::uint16_t checksum(std::span<const std::uint8_t> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += get16(bytes, i);
  if (bytes.size() % 2 != 0) sum += static_cast<std::uint32_t>(bytes.back()) << 8;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

Bytes to_packet(const Bytes& message) {
  Bytes out(ip_bytes + udp_bytes + message.size());
  out[0] = 0x45;
  put16(out, 2, out.size());
  out[8] = 64;
  out[9] = udp_protocol;
  std::fill_n(out.begin() + 16, 4, std::uint8_t{0xff});
  put16(out, 10, checksum(std::span(out).first(ip_bytes)));
  put16(out, ip_bytes, client_port);
  put16(out, ip_bytes + 2, server_port);
  put16(out, ip_bytes + 4, udp_bytes + message.size());
  std::copy(message.begin(), message.end(), out.begin() + ip_bytes + udp_bytes);

  // The pseudo header: protocol, length and the two addresses.
  Bytes summed{0, udp_protocol, out[ip_bytes + 4], out[ip_bytes + 5]};
  for (std::size_t i = 12; i < out.size(); ++i) summed.push_back(out[i]);
  const auto sum = checksum(summed);
  put16(out, ip_bytes + 6, sum == 0 ? 0xffff : sum);
  return out;
}

// The UDP checksum is not looked at: between a virtual machine and its own host it is often left to hardware
// that is not there. The link has one of its own.
std::span<const std::uint8_t> message_in(std::span<const std::uint8_t> packet) {
  if (packet.size() < ip_bytes || packet[0] >> 4 != 4) return {};
  const std::size_t header = (packet[0] & 0xfU) * 4U;
  const std::size_t total = get16(packet, 2);
  const bool fragment = (get16(packet, 6) & 0x3fff) != 0;
  if (header < ip_bytes || total > packet.size() || total < header + udp_bytes || fragment ||
      packet[9] != udp_protocol) {
    return {};
  }
  const auto udp = packet.subspan(header, total - header);
  const std::size_t length = get16(udp, 4);
  if (get16(udp, 0) != server_port || get16(udp, 2) != client_port || length < udp_bytes ||
      length > udp.size()) {
    return {};
  }
  return udp.subspan(udp_bytes, length - udp_bytes);
}

}  // namespace rdmove::agent::dhcp
