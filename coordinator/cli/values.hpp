// Strict readers of what is typed: one clear sentence for each way to be wrong. Pure functions, any thread.
// The sentence is the right half of one that starts with the option's name: "--timeout: 'x' is not ...".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "coordinator/base/types.hpp"

namespace rdmove::cli {

template <class T>
using Reading = tl::expected<T, std::string>;

struct Range {
  std::uint32_t least;
  std::uint32_t most;
  std::string_view unit;  ///< "seconds"; may be empty
};

constexpr Range kTimeout{1, 604'800, "seconds"};  // a week, which still fits the API's milliseconds
constexpr Range kBandwidth{1, 1'048'576, "MiB/s"};
constexpr Range kParallelConnections{1, 255, "connections"};  // QEMU's multifd-channels is one byte
constexpr std::uint32_t kParallelAlone = 2;                   // --parallel without a number, as QEMU has it
constexpr Range kMaxParallel{1, 16, "VMs"};                   // as the API has it
constexpr Range kPrepareDeadline{1, 600'000, "milliseconds"};
constexpr Range kInterval{1, 86'400, "seconds"};
constexpr Range kHold{1, 86'400, "seconds"};  // a day, as the API has it
constexpr Range kNewest{1, 1'000, "migrations"};

/// Decimal digits only, within the range.
Reading<std::uint32_t> readNumber(std::string_view text, Range range);

/// "90s", "10m", "2h", or seconds alone; within the range, which is in seconds.
Reading<std::chrono::seconds> readDuration(std::string_view text, Range range);

/// A VM, host, pool or migration: 1 to 255 bytes, no control characters, not starting with '-'.
Reading<std::string> readName(std::string_view text);

/// A unicast Ethernet address.
Reading<MacAddress> readMac(std::string_view text);

/// libvirt's user alias: "ua-" and letters, digits, '-' and '_'.
Reading<std::string> readAlias(std::string_view text);

/// SCHEME:REST, as libvirt's migration URIs are.
Reading<std::string> readUri(std::string_view text);

/// A path that fits sockaddr_un.
Reading<std::string> readSocketPath(std::string_view text);

}  // namespace rdmove::cli
