// What a client says of itself in the private data of its first connect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "guestagent/ping/ring.hpp"

namespace rdmove::ping {

/// What a client says at its first connect: "ping", the size of its messages in bytes, and which one-sided
/// operations it makes. Earlier ones said only the first two.
struct Introduction {
  std::uint32_t size = 0;
  OneSided one_sided;
};
std::vector<std::byte> write_introduction(const Introduction& introduction);
std::optional<Introduction> read_introduction(std::span<const std::byte> data);

}  // namespace rdmove::ping
