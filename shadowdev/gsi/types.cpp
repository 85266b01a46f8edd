#include "shadowdev/gsi/types.hpp"

#include <arpa/inet.h>

#include "shadowdev/gsi/bytes.hpp"

namespace rdmove::gsi {

Gid Gid::from(std::uint64_t prefix, std::uint64_t guid) {
  Gid gid;
  store(gid.bytes_.data(), prefix);
  store(gid.bytes_.data() + 8, guid);
  return gid;
}

std::optional<Gid> Gid::parse(std::string_view text) {
  Gid gid;
  if (inet_pton(AF_INET6, std::string(text).c_str(), gid.bytes_.data()) != 1) return std::nullopt;
  return gid;
}

std::string Gid::text() const {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, bytes_.data(), text, sizeof text);
}

}  // namespace rdmove::gsi
