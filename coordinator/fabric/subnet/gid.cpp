#include "coordinator/fabric/subnet/gid.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

namespace rdmove {
namespace {

std::uint64_t half(const std::array<std::uint8_t, 16>& bytes, std::size_t from) {
  std::uint64_t value = 0;
  for (std::size_t i = from; i < from + 8; ++i) value = value << 8 | bytes.at(i);
  return value;
}

}  // namespace

Gid::Gid(std::uint64_t prefix, Guid guid) {
  for (std::size_t i = 0; i < 8; ++i) {
    bytes_.at(i) = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
    bytes_.at(8 + i) = static_cast<std::uint8_t>(guid.value() >> (56 - 8 * i));
  }
}

std::optional<Gid> Gid::parse(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  return Gid(bytes);
}

std::string Gid::str() const {
  std::string out;
  for (std::size_t i = 0; i < bytes_.size(); i += 2)
    out += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", bytes_.at(i), bytes_.at(i + 1));
  return out;
}

std::uint64_t Gid::prefix() const {
  return half(bytes_, 0);
}

Guid Gid::guid() const {
  return Guid(half(bytes_, 8));
}

}  // namespace rdmove
