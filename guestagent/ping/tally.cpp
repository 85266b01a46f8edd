#include "guestagent/ping/tally.hpp"

#include <algorithm>

namespace rdmove::ping {

void Tally::arrived(std::optional<std::uint64_t> number, Clock::time_point when) {
  completed(when);
  if (!number) {
    ++corrupted_;
    return;
  }
  if (*number <= last_) {
    if (missing_.erase(*number) == 0) {
      ++duplicated_;
      return;
    }
    ++reordered_;
  } else {
    end(*number - 1);
    last_ = *number;
  }
  ++delivered_;
}

void Tally::end(std::uint64_t last) {
  for (std::uint64_t number = last_ + 1; number <= last; ++number) {
    if (missing_.size() == kMissing) {
      lost_beyond_ += last - number + 1;
      break;
    }
    missing_.insert(number);
  }
  last_ = std::max(last_, last);
}

void Tally::completed(Clock::time_point when) {
  if (dark_since_) {
    const auto dark = std::chrono::duration_cast<std::chrono::microseconds>(when - *dark_since_);
    dark_since_.reset();
    ++blackout_count_;
    longest_ = std::max(longest_, dark);
    blackouts_.push_back(dark);
    if (blackouts_.size() > kKept) blackouts_.pop_front();
  }
  last_completion_ = when;
}

void Tally::down() {
  if (!dark_since_) dark_since_ = last_completion_;
}

}  // namespace rdmove::ping
