// A GID: 8 bytes subnet prefix, 8 bytes GUID (IBA 4.1.1). Plain value, any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/base/vf_values.hpp"

namespace rdmove {

class Gid {
 public:
  constexpr Gid() = default;
  explicit constexpr Gid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}
  Gid(std::uint64_t prefix, Guid guid);
  /// sysfs's form or any that an IPv6 address may have; nothing if it is neither.
  static std::optional<Gid> parse(std::string_view text);
  [[nodiscard]] std::string str() const;  ///< "fe80:0000:0000:0000:0002:c903:000a:1b2c", as sysfs has it
  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t prefix() const;
  [[nodiscard]] Guid guid() const;
  auto operator<=>(const Gid&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace rdmove
