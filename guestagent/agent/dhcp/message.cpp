#include "guestagent/agent/dhcp/message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace rdmove::agent::dhcp {
namespace {

constexpr std::size_t fixed_bytes = 236;  // before the cookie
constexpr std::size_t smallest = 300;     // BOOTP relays drop shorter ones
constexpr std::size_t hardware_at = 28;
constexpr std::array<std::uint8_t, 4> cookie{99, 130, 83, 99};
constexpr std::uint8_t query_op = 1;
constexpr std::uint8_t reply_op = 2;
constexpr std::uint8_t ethernet = 1;
constexpr std::uint8_t infiniband = 32;

enum Option : std::uint8_t {
  Pad = 0,
  SubnetMask = 1,
  Router = 3,
  RequestedAddress = 50,
  LeaseTime = 51,
  MessageType = 53,
  ServerIdentifier = 54,
  ParameterList = 55,
  MaximumSize = 57,
  ClientIdentifier = 61,
  End = 255
};

bool is_infiniband(const Client& client) {
  return client.hardware.size() == 20;
}

// Option code -> value. None if one runs over the end. Of a repeated option the first counts.
using Options = std::map<std::uint8_t, std::span<const std::uint8_t>>;
std::optional<Options> options_of(std::span<const std::uint8_t> message) {
  if (message.size() < fixed_bytes + cookie.size() ||
      !std::equal(cookie.begin(), cookie.end(), message.begin() + fixed_bytes)) {
    return std::nullopt;
  }
  Options out;
  auto rest = message.subspan(fixed_bytes + cookie.size());
  while (!rest.empty() && rest[0] != End) {
    if (rest[0] == Pad) {
      rest = rest.subspan(1);
      continue;
    }
    if (rest.size() < 2 || rest.size() - 2 < rest[1]) return std::nullopt;
    out.emplace(rest[0], rest.subspan(2, rest[1]));
    rest = rest.subspan(2U + rest[1]);
  }
  return out;
}

std::uint32_t number(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

// A host's address, and no other kind.
std::optional<Ipv4> host(std::uint32_t value) {
  const Ipv4 address(value);
  const bool odd = address.is_unspecified() || address.is_multicast() || address.is_loopback() ||
                   value >> 24 == 0 || value >> 28 == 0xf;
  return odd ? std::nullopt : std::optional(address);
}

std::optional<std::uint32_t> number_in(const Options& options, std::uint8_t code) {
  const auto found = options.find(code);
  if (found == options.end() || found->second.size() < 4) return std::nullopt;
  return number(found->second);
}

std::optional<Ipv4> host_in(const Options& options, std::uint8_t code) {
  const auto value = number_in(options, code);
  return value ? host(*value) : std::nullopt;
}

std::optional<int> prefix_in(const Options& options) {
  const auto mask = number_in(options, SubnetMask);
  if (!mask) return std::nullopt;
  const int bits = std::countl_one(*mask);
  const bool contiguous = bits == std::popcount(*mask);
  return contiguous && bits > 0 ? std::optional(bits) : std::nullopt;
}

// RFC 4390: on InfiniBand the hardware address is not in the message, so the identifier tells whose it is,
// where the server repeats it (RFC 6842).
bool is_for(const Client& client, std::span<const std::uint8_t> message, const Options& options) {
  if (is_infiniband(client)) {
    const auto id = options.find(ClientIdentifier);
    return message[1] == infiniband &&
           (id == options.end() || std::ranges::equal(id->second, client.identifier));
  }
  return message[1] == ethernet && message[2] == client.hardware.size() &&
         std::equal(client.hardware.begin(), client.hardware.end(), message.begin() + hardware_at);
}

void put32(Bytes& out, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

void add(Bytes& out, std::uint8_t code, std::span<const std::uint8_t> value) {
  out.push_back(code);
  out.push_back(static_cast<std::uint8_t>(value.size()));
  out.insert(out.end(), value.begin(), value.end());
}

}  // namespace

Bytes to_bytes(const Client& client, const Query& query) {
  constexpr std::uint8_t broadcast_flag = 0x80;
  constexpr std::array<std::uint8_t, 4> wanted{SubnetMask, Router, LeaseTime, ServerIdentifier};
  constexpr std::array<std::uint8_t, 2> largest{0x02, 0x40};  // 576 bytes, what anyone must take
  Bytes out(fixed_bytes);
  out[0] = query_op;
  put32(out, 4, query.transaction);
  out[8] = static_cast<std::uint8_t>(query.elapsed_seconds >> 8);
  out[9] = static_cast<std::uint8_t>(query.elapsed_seconds);
  if (is_infiniband(client)) {
    out[1] = infiniband;  // hlen and chaddr stay zero: 20 bytes have no room there
    out[10] = broadcast_flag;
  } else {
    out[1] = ethernet;
    out[2] = static_cast<std::uint8_t>(client.hardware.size());
    std::copy_n(client.hardware.begin(), std::min<std::size_t>(client.hardware.size(), 16),
                out.begin() + hardware_at);
  }
  out.insert(out.end(), cookie.begin(), cookie.end());
  const std::array<std::uint8_t, 1> type{static_cast<std::uint8_t>(query.type)};
  add(out, MessageType, type);
  if (!client.identifier.empty() && client.identifier.size() <= 255) {
    add(out, ClientIdentifier, client.identifier);
  }
  if (query.address) add(out, RequestedAddress, query.address->to_bytes());
  if (query.server) add(out, ServerIdentifier, query.server->to_bytes());
  add(out, ParameterList, wanted);
  add(out, MaximumSize, largest);
  out.push_back(End);
  if (out.size() < smallest) out.resize(smallest);
  return out;
}

std::optional<Reply> parse_reply(std::span<const std::uint8_t> bytes, const Client& client,
                                 std::uint32_t transaction) {
  const auto options = options_of(bytes);
  if (!options || bytes[0] != reply_op || number(bytes.subspan(4)) != transaction ||
      !is_for(client, bytes, *options)) {
    return std::nullopt;
  }
  const auto type = options->find(MessageType);
  if (type == options->end() || type->second.size() != 1) return std::nullopt;
  Reply out;
  out.type = static_cast<Type>(type->second[0]);
  out.server = host_in(*options, ServerIdentifier);
  if (out.type == Type::Nak) return out;
  if (out.type != Type::Offer && out.type != Type::Ack) return std::nullopt;

  const auto address = host(number(bytes.subspan(16)));
  const auto lease = number_in(*options, LeaseTime);
  if (!address || !out.server || (out.type == Type::Ack && (!lease || *lease == 0))) return std::nullopt;
  out.address = *address;
  out.router = host_in(*options, Router);
  out.prefix = prefix_in(*options);
  if (lease) out.lease = std::chrono::seconds(*lease);
  return out;
}

std::optional<Bytes> identifier_in(std::span<const std::uint8_t> stored, const Ipv4& address) {
  const auto options = options_of(stored);
  if (!options || number(stored.subspan(16)) != address.to_uint()) return std::nullopt;
  const auto id = options->find(ClientIdentifier);
  if (id == options->end() || id->second.empty()) return std::nullopt;
  return Bytes(id->second.begin(), id->second.end());
}

Bytes infiniband_identifier(const protocol::PortGuid& guid) {
  // 255, IAID 0, DUID type 2 (by enterprise), enterprise 0x2c9, one byte of zero, the GUID.
  Bytes out{0xff, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0xc9, 0};
  out.insert(out.end(), guid.bytes().begin(), guid.bytes().end());
  return out;
}

}  // namespace rdmove::agent::dhcp
