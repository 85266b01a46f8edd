// CLOCK_MONOTONIC, and log lines that begin with it.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace beat {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC in libstdc++
using Time = Clock::time_point;

inline double to_ms(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// "SECONDS EVENT": one line, at once.
inline void log_event(const std::string& event, Time at = Clock::now()) {
  std::printf("%.6f %s\n", to_ms(at.time_since_epoch()) / 1000, event.c_str());
  std::fflush(stdout);
}

}  // namespace beat
