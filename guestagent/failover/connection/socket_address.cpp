#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "rdmove/connection.hpp"

namespace rdmove::failover {

Result<SocketAddress> SocketAddress::parse(std::string_view address, std::uint16_t port) {
  SocketAddress out;
  const std::string text(address);
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&out.storage_);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    return out.with_port(port);
  }
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&out.storage_);
  const auto percent = text.find('%');
  if (inet_pton(AF_INET6, text.substr(0, percent).c_str(), &v6->sin6_addr) != 1)
    return fail(ErrorCode::InvalidArgument, "\"" + text + "\" is no IP address; names are not resolved");
  v6->sin6_family = AF_INET6;
  if (percent != std::string::npos) {
    v6->sin6_scope_id = if_nametoindex(text.c_str() + percent + 1);
    if (v6->sin6_scope_id == 0)
      return fail(ErrorCode::AddressNotAvailable,
                  "there is no interface \"" + text.substr(percent + 1) + "\"");
  }
  return out.with_port(port);
}

SocketAddress SocketAddress::from(const sockaddr* address) {
  SocketAddress out;
  if (address->sa_family == AF_INET) std::memcpy(&out.storage_, address, sizeof(sockaddr_in));
  if (address->sa_family == AF_INET6) std::memcpy(&out.storage_, address, sizeof(sockaddr_in6));
  return out;
}

std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return 0;
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const {
  SocketAddress out = *this;
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&out.storage_)->sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&out.storage_)->sin6_port = htons(port);
  return out;
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  // What looks different may be padding.
  return std::memcmp(&storage_, &other.storage_, sizeof storage_) == 0 || text() == other.text();
}

std::string SocketAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, buffer.data(),
              buffer.size());
    return std::string(buffer.data()) + ":" + std::to_string(port());
  }
  if (family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
    inet_ntop(AF_INET6, &v6->sin6_addr, buffer.data(), buffer.size());
    std::string scope;
    std::array<char, IF_NAMESIZE> name{};
    if (v6->sin6_scope_id != 0)
      scope = "%" + (if_indextoname(v6->sin6_scope_id, name.data()) ? std::string(name.data())
                                                                    : std::to_string(v6->sin6_scope_id));
    return "[" + std::string(buffer.data()) + scope + "]:" + std::to_string(port());
  }
  return "-";
}

}  // namespace rdmove::failover
