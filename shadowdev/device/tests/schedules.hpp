// How many random schedules a test runs, and from which seed: RDMOVE_SCHEDULES=N and RDMOVE_SEED=S.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace rdmove::shadow::test {

inline std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

/// A fifth where a sanitizer makes each cost ten times as much.
inline std::uint32_t schedules(std::uint32_t otherwise) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  otherwise /= 5;
#endif
  return number_from("RDMOVE_SCHEDULES", otherwise);
}

}  // namespace rdmove::shadow::test
