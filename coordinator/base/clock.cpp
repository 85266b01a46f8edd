#include "coordinator/base/clock.hpp"

#include <time.h>

#include <fstream>

namespace rdmove {

Moment SystemClock::now() const {
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  return {std::chrono::seconds(boot.tv_sec) + std::chrono::nanoseconds(boot.tv_nsec),
          std::chrono::system_clock::now()};
}

std::string SystemClock::bootId() const {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace rdmove
