// Looks until something is so, for what has no event that reaches the harness.
#pragma once

#include <chrono>
#include <thread>

namespace rdmove::harness {

/// False when the time is over.
template <class Look>
bool within(std::chrono::milliseconds limit, const Look& look) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!look()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace rdmove::harness
