// What one end has seen of one connection. Pure; times come in.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>

namespace rdmove::ping {

using Clock = std::chrono::steady_clock;

class Tally {
 public:
  /// A message with its number, if it could be read.
  void arrived(std::optional<std::uint64_t> number, Clock::time_point when);
  /// Something of ours was acknowledged: the connection worked then, too.
  void completed(Clock::time_point when);
  void down();
  /// A one-sided write that is done; a place that was read, and holds what it should; one that does not.
  void wrote() { ++written_; }
  void read() { ++read_; }
  void spoilt() { ++corrupted_; }
  /// Those up to `last` were to come: what has not is lost.
  void end(std::uint64_t last);

  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint64_t lost() const { return missing_.size() + lost_beyond_; }
  [[nodiscard]] std::uint64_t duplicated() const { return duplicated_; }
  [[nodiscard]] std::uint64_t reordered() const { return reordered_; }
  [[nodiscard]] std::uint64_t corrupted() const { return corrupted_; }
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t read_back() const { return read_; }
  [[nodiscard]] bool is_dark() const { return dark_since_.has_value(); }
  [[nodiscard]] bool is_clean() const { return lost() + duplicated_ + reordered_ + corrupted_ == 0; }
  [[nodiscard]] std::uint64_t last() const { return last_; }

  /// From the last completion before the connection went down to the first one after it; the newest last.
  [[nodiscard]] const std::deque<std::chrono::microseconds>& blackouts() const { return blackouts_; }
  [[nodiscard]] std::uint64_t blackout_count() const { return blackout_count_; }
  [[nodiscard]] std::chrono::microseconds longest() const { return longest_; }

 private:
  static constexpr std::size_t kKept = 64;       // blackouts
  static constexpr std::size_t kMissing = 4096;  // numbers that may still come

  std::uint64_t last_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t duplicated_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t corrupted_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t lost_beyond_ = 0;
  std::set<std::uint64_t> missing_;
  std::optional<Clock::time_point> last_completion_;
  std::optional<Clock::time_point> dark_since_;
  std::deque<std::chrono::microseconds> blackouts_;
  std::uint64_t blackout_count_ = 0;
  std::chrono::microseconds longest_{0};
};

}  // namespace rdmove::ping
