// Time as the coordinator uses it: a boot clock that decides (leases, durations) and a wall clock for
// display. Both are handed in, so that tests set them. Any thread.
#pragma once

#include <chrono>
#include <string>

namespace rdmove {

/// One moment in both clocks. boot is CLOCK_BOOTTIME of the host whose boot_id the journal keeps beside it.
struct Moment {
  std::chrono::nanoseconds boot{0};
  std::chrono::system_clock::time_point wall{};
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Moment now() const = 0;
  /// /proc/sys/kernel/random/boot_id: a boot clock means nothing beside another boot's.
  virtual std::string bootId() const = 0;
};

class SystemClock : public Clock {
 public:
  Moment now() const override;
  std::string bootId() const override;
};

}  // namespace rdmove
