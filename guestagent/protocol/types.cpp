#include "guestagent/protocol/types.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <std::size_t size>
std::optional<std::array<std::uint8_t, size>> colon_bytes(std::string_view text) {
  if (text.size() != size * 3 - 1) return std::nullopt;
  std::array<std::uint8_t, size> bytes{};
  for (std::size_t i = 0; i < size; ++i) {
    const int high = hex_value(text[i * 3]);
    const int low = hex_value(text[i * 3 + 1]);
    if (high < 0 || low < 0 || (i + 1 < size && text[i * 3 + 2] != ':')) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return bytes;
}

template <std::size_t size>
std::string colon_text(const std::array<std::uint8_t, size>& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const auto byte : bytes) {
    if (!out.empty()) out += ':';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

bool may_be_in_id(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

}  // namespace

Result<MacAddress> MacAddress::parse(std::string_view text) {
  const auto bytes = colon_bytes<6>(text);
  if (!bytes) return fail(ErrorCode::InvalidParams, "must be a MAC like 52:54:00:12:34:56");
  return MacAddress(*bytes);
}

std::string MacAddress::text() const {
  return colon_text(bytes_);
}

Result<PortGuid> PortGuid::parse(std::string_view text) {
  const auto bytes = colon_bytes<8>(text);
  if (!bytes) return fail(ErrorCode::InvalidParams, "must be a port GUID like 00:02:c9:03:00:0a:1b:2c");
  return PortGuid(*bytes);
}

std::string PortGuid::text() const {
  return colon_text(bytes_);
}

std::string to_text(const DeviceIdentity& identity) {
  return std::visit([](const auto& value) { return value.text(); }, identity);
}

Result<MigrationId> MigrationId::parse(std::string_view text) {
  if (text.empty() || text.size() > limits::migration_bytes || text.front() == '.' ||
      !std::all_of(text.begin(), text.end(), may_be_in_id)) {
    return fail(ErrorCode::InvalidParams, "must be 1 to " + std::to_string(limits::migration_bytes) +
                                              " of [A-Za-z0-9._-], no dot in front");
  }
  MigrationId id;
  id.text_ = text;
  return id;
}

std::string_view to_text(DeviceKind kind) {
  return kind == DeviceKind::SoftRoce ? "soft-roce" : "vf";
}

Result<DeviceKind> parse_device_kind(std::string_view text) {
  if (text == "soft-roce") return DeviceKind::SoftRoce;
  if (text == "vf") return DeviceKind::Vf;
  return fail(ErrorCode::InvalidParams, "must be \"soft-roce\" or \"vf\"");
}

}  // namespace rdmove::protocol
