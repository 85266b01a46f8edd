// What either side accepts at most. The page: docs/agent-protocol.md, "Limits"; change both together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rdmove::protocol::limits {

inline constexpr std::size_t line_bytes = 64 * 1024;  // without the '\n'
inline constexpr int json_depth = 16;
inline constexpr std::size_t method_bytes = 64;
inline constexpr std::size_t id_bytes = 128;  // a request id that is a string
inline constexpr std::size_t migration_bytes = 64;
inline constexpr std::size_t name_bytes = 128;  // software, host, alias, application
inline constexpr std::size_t rdma_name_bytes = 63;
inline constexpr std::size_t netdev_bytes = 15;
inline constexpr std::size_t address_bytes = 64;
inline constexpr std::size_t message_bytes = 1024;  // an error's text
inline constexpr std::size_t devices = 32;
inline constexpr std::size_t addresses = 64;  // per device
inline constexpr std::size_t gids = 256;      // per device
inline constexpr std::size_t pkeys = 256;     // per device
inline constexpr std::size_t holdouts = 256;
inline constexpr std::size_t counters = 512;  // per device and port
inline constexpr std::size_t traffic = 32;    // named numbers per device and port
inline constexpr std::size_t applications = 256;
inline constexpr std::uint32_t connections = 1'000'000;                // that one application reports
inline constexpr std::uint64_t resent = (std::uint64_t{1} << 53) - 1;  // what any JSON reader holds
inline constexpr std::size_t peers = 1024;                             // addresses: they fit a line
inline constexpr std::size_t warnings = 32;
inline constexpr std::chrono::milliseconds deadline{10 * 60 * 1000};

}  // namespace rdmove::protocol::limits
