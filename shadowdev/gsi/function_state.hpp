// What of a function migrates, and its bytes (docs/gsi.md, "The state of a function", changes with this
// file). What is read here came over a network: nothing of it is believed. Plain values, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shadowdev/gsi/cm_router.hpp"
#include "shadowdev/gsi/problem.hpp"
#include "shadowdev/gsi/shared_records.hpp"

namespace rdmove::gsi {

/// Not in it: requests that wait for an answer (the guest repeats them), MADs in queues, and the function's
/// GIDs, which are its identity and moved by other means.
struct FunctionState {
  static constexpr std::uint16_t kVersion = 1;
  /// Of each list. Far more than a port's default limits, and small enough to be read at once.
  static constexpr std::size_t kMostRecords = 4096;
  static constexpr std::size_t kMostConnections = 65536;

  std::vector<HeldRecord> memberships;
  std::vector<HeldRecord> subscriptions;
  std::vector<CmConnection> connections;

  bool operator==(const FunctionState&) const = default;
};

/// TooLarge: more than the format takes.
Result<std::vector<std::byte>> serialise(const FunctionState& state);
/// Damaged, OtherVersion or TooLarge. Memory is taken only for what is there.
Result<FunctionState> parse(std::span<const std::byte> bytes);

}  // namespace rdmove::gsi
