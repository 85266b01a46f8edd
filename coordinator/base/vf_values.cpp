#include "coordinator/base/vf_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rdmove {
namespace {

constexpr std::size_t kGuidDigits = 16;
constexpr std::size_t kMostPartitionKeys = 128;  // the largest table that a port of today has
constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 56;

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || text.empty() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool startsWithHex(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X");
}

/// The digits of a GUID without its colons, which must be between equal groups of two or four.
std::optional<std::string> withoutColons(std::string_view text) {
  if (startsWithHex(text)) text.remove_prefix(2);
  const auto first = text.find(':');
  if (first == std::string_view::npos) return std::string(text);
  if ((first != 2 && first != 4) || text.back() == ':') return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool colon_here = i % (first + 1) == first;
    if (colon_here != (text[i] == ':')) return std::nullopt;
    if (!colon_here) digits += text[i];
  }
  return digits;
}

tl::unexpected<Error> noGuid(std::string_view text, std::string_view why) {
  return failure(ErrorCode::kBadInput, "",
                 fmt::format("'{}' {}, and a GUID is like 00:02:c9:03:00:0a:1b:2c", text.substr(0, 40), why));
}

}  // namespace

Result<Guid> Guid::parse(std::string_view text) {
  const auto digits = withoutColons(text);
  const auto value = digits ? hexadecimal(*digits) : std::nullopt;
  if (digits && digits->size() != kGuidDigits && (value || digits->size() > kGuidDigits))
    return noGuid(text, fmt::format("has {} digits and not 16", digits->size()));
  if (!value) return noGuid(text, "is no hexadecimal number");
  if (*value == 0) return noGuid(text, "is all zeros");
  if (*value == ~std::uint64_t{0}) return noGuid(text, "is all ones");
  if ((*value & kGroupBit) != 0) return noGuid(text, "has the group bit of a multicast address");
  return Guid(*value);
}

std::optional<Guid> Guid::read(std::string_view text) {
  const auto digits = withoutColons(text);
  const auto value = digits && digits->size() <= kGuidDigits ? hexadecimal(*digits) : std::nullopt;
  return value ? std::optional<Guid>(Guid(*value)) : std::nullopt;
}

std::string Guid::digits() const {
  return fmt::format("{:016x}", value_);
}

std::string Guid::str() const {
  std::string text = digits();
  for (std::size_t at = kGuidDigits - 2; at > 0; at -= 2) text.insert(at, 1, ':');
  return text;
}

Result<PartitionKey> PartitionKey::parse(std::string_view text) {
  const auto value = startsWithHex(text) ? hexadecimal(text.substr(2)) : std::nullopt;
  if (!value || *value > 0xffff) {
    return failure(ErrorCode::kBadInput, "",
                   fmt::format("'{}' is no P_Key, which is like 0x8001", text.substr(0, 40)));
  }
  const PartitionKey key(static_cast<std::uint16_t>(*value));
  if (key.partition() == 0) {
    return failure(ErrorCode::kBadInput, "",
                   fmt::format("'{}' is of partition 0, which no P_Key may name", text));
  }
  return key;
}

std::string PartitionKey::str() const {
  return fmt::format("0x{:04x}", value_);
}

Result<std::vector<PartitionKey>> parsePartitionKeys(std::string_view text) {
  std::vector<PartitionKey> keys;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    const auto key = PartitionKey::parse(word);
    if (!key) return tl::unexpected(key.error());
    if (keys.size() == kMostPartitionKeys)
      return failure(ErrorCode::kBadInput, "",
                     fmt::format("there are more than {} P_Keys", kMostPartitionKeys));
    keys.push_back(*key);
  }
  return keys;
}

std::string toString(const std::vector<PartitionKey>& keys) {
  std::string text;
  for (const PartitionKey& key : keys) {
    if (!text.empty()) text += ' ';
    text += key.str();
  }
  return text;
}

std::optional<VlanProtocol> parseVlanProtocol(std::string_view text) {
  for (const VlanProtocol protocol : {VlanProtocol::k8021Q, VlanProtocol::k8021ad}) {
    if (text == toString(protocol)) return protocol;
  }
  return std::nullopt;
}

std::string_view toString(VlanProtocol protocol) {
  return protocol == VlanProtocol::k8021ad ? "802.1ad" : "802.1Q";
}

std::optional<LinkPolicy> parseLinkPolicy(std::string_view text) {
  for (const LinkPolicy policy : {LinkPolicy::kAuto, LinkPolicy::kEnable, LinkPolicy::kDisable}) {
    if (text == toString(policy)) return policy;
  }
  return std::nullopt;
}

std::string_view toString(LinkPolicy policy) {
  switch (policy) {
    case LinkPolicy::kAuto:
      return "auto";
    case LinkPolicy::kEnable:
      return "enable";
    case LinkPolicy::kDisable:
      return "disable";
  }
  return "unknown";
}

}  // namespace rdmove
