// A process' RDMA objects as bytes, for people and tests: nobody restores from them, since the live state is
// in the process' memory, which migrates. docs/snapshot-format.md is the page of this format. What is read
// here may come from anywhere: nothing of it is believed. Plain values, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shadowdev/model/objects.hpp"
#include "shadowdev/model/problem.hpp"

namespace rdmove::shadow::model {

inline constexpr std::uint16_t kSnapshotVersion = 1;
inline constexpr std::size_t kMostObjects = 1U << 20U;  ///< of each kind
inline constexpr std::size_t kMostEntries = 1U << 16U;  ///< of each list in an object: no queue is deeper
inline constexpr std::size_t kMostBytes = 256U << 20U;  ///< of a snapshot
inline constexpr std::size_t kLongestName = 64;         ///< IBV_SYSFS_NAME_MAX

/// TooLarge or BadInput (what is_consistent says).
Result<std::vector<std::byte>> encode(const Process& process);
/// Damaged, OtherVersion or TooLarge. Memory is taken only for what is there.
Result<Process> decode(std::span<const std::byte> bytes);

/// Every reference leads to an object of the right kind that was made before; ids are unique; values are ones
/// that verbs know. The problem names the object.
Result<void> is_consistent(const Process& process);

}  // namespace rdmove::shadow::model
