#include "coordinator/migration/transfer_samples.hpp"

#include <nlohmann/json.hpp>

namespace rdmove {
namespace {

/// What went over the wire between two looks: less is left, although some was dirtied meanwhile.
std::uint64_t sentPerSecond(const TransferSample& before, const TransferSample& now) {
  const double seconds = static_cast<double>(now.wall_us - before.wall_us) / 1e6;
  if (seconds <= 0) return 0;
  const double less = static_cast<double>(before.remaining_bytes) - static_cast<double>(now.remaining_bytes);
  const double sent = less / seconds + static_cast<double>(now.dirty_bytes_per_second);
  return sent > 0 ? static_cast<std::uint64_t>(sent) : 0;
}

}  // namespace

void TransferSamples::add(std::chrono::system_clock::time_point when, const JobProgress& progress) {
  if (seen_++ % every_ != 0) return;
  TransferSample sample;
  sample.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count();
  sample.remaining_bytes = progress.remaining_bytes;
  sample.dirty_bytes_per_second = progress.dirty_bytes_per_second;
  if (!samples_.empty()) sample.sent_bytes_per_second = sentPerSecond(samples_.back(), sample);
  samples_.push_back(sample);
  if (samples_.size() <= kMost) return;
  std::vector<TransferSample> half;
  for (std::size_t i = 0; i < samples_.size(); i += 2) half.push_back(samples_[i]);
  samples_ = std::move(half);
  every_ *= 2;
}

std::string TransferSamples::json() const {
  nlohmann::json all = nlohmann::json::array();
  for (const TransferSample& each : samples_) {
    all.push_back(
        {each.wall_us, each.remaining_bytes, each.sent_bytes_per_second, each.dirty_bytes_per_second});
  }
  return all.dump();
}

std::vector<TransferSample> TransferSamples::read(std::string_view json) {
  const auto all = nlohmann::json::parse(json, nullptr, false);
  if (!all.is_array() || all.size() > kMost + 1) return {};
  std::vector<TransferSample> samples;
  for (const auto& each : all) {
    if (!each.is_array() || each.size() != 4) return {};
    for (const auto& number : each) {
      if (!number.is_number_integer()) return {};
    }
    samples.push_back({each[0].get<std::int64_t>(), each[1].get<std::uint64_t>(),
                       each[2].get<std::uint64_t>(), each[3].get<std::uint64_t>()});
  }
  return samples;
}

}  // namespace rdmove
