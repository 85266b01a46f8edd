// How much an application may say: 64 lines at once, 8 a second on average. One per connection; loop thread.
#pragma once

#include <algorithm>

#include "guestagent/agent/timers.hpp"

namespace rdmove::agent {

class LineBudget {
 public:
  static constexpr int burst = 64;
  static constexpr milliseconds cost{125};

  /// False: it floods.
  bool take(milliseconds now) {
    paid_until_ = std::max(paid_until_, now) + cost;
    return paid_until_ - now <= burst * cost;
  }

 private:
  milliseconds paid_until_{0};
};

}  // namespace rdmove::agent
