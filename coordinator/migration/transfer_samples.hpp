// How a transfer went, a look a second: kept by the departure, and journaled as one fact when the transfer is
// over. Bounded: beyond kMost every second one is dropped, and from then on every second one is kept. Plain,
// one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"

namespace rdmove {

inline constexpr const char* kTransferSamples = "transfer-samples";

struct TransferSample {
  std::int64_t wall_us = 0;
  std::uint64_t remaining_bytes = 0;
  std::uint64_t sent_bytes_per_second =
      0;  ///< since the sample before, as the remaining and dirtied bytes have it
  std::uint64_t dirty_bytes_per_second = 0;
  bool operator==(const TransferSample&) const = default;
};

class TransferSamples {
 public:
  static constexpr std::size_t kMost = 300;

  void add(std::chrono::system_clock::time_point when, const JobProgress& progress);
  bool empty() const { return samples_.empty(); }
  const std::vector<TransferSample>& all() const { return samples_; }
  /// [[wall_us, remaining, sent/s, dirty/s], ...]: numbers alone, since it is many.
  std::string json() const;
  /// What cannot be read is none.
  static std::vector<TransferSample> read(std::string_view json);

 private:
  std::vector<TransferSample> samples_;
  std::size_t every_ = 1;
  std::size_t seen_ = 0;
};

}  // namespace rdmove
