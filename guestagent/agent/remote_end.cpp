#include "guestagent/agent/remote_end.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace rdmove::agent {
namespace {

// rdma/ib.h has it in the kernel, and its sib_addr where sockaddr_in6 has sin6_addr.
constexpr sa_family_t family_ib = 27;

template <std::size_t N>
std::optional<std::string> text_of(int family, const void* storage, std::size_t bytes, std::size_t at) {
  std::array<std::uint8_t, N> address{};
  if (at + N > bytes) return std::nullopt;
  std::memcpy(address.data(), static_cast<const std::uint8_t*>(storage) + at, N);
  if (std::all_of(address.begin(), address.end(), [](std::uint8_t byte) { return byte == 0; }))
    return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  return std::string(inet_ntop(family, address.data(), text.data(), text.size()));
}

}  // namespace

std::optional<std::string> remote_address(const void* storage, std::size_t bytes) {
  sa_family_t family = 0;
  if (bytes < sizeof family) return std::nullopt;
  std::memcpy(&family, storage, sizeof family);
  if (family == AF_INET) return text_of<4>(AF_INET, storage, bytes, offsetof(sockaddr_in, sin_addr));
  if (family == AF_INET6 || family == family_ib)
    return text_of<16>(AF_INET6, storage, bytes, offsetof(sockaddr_in6, sin6_addr));
  return std::nullopt;
}

}  // namespace rdmove::agent
