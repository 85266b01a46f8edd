// What the agent logs of a million bad lines is nobody's to read.
#pragma once

#include <spdlog/spdlog.h>

namespace rdmove::fuzz {

inline void quiet() {
  spdlog::set_level(spdlog::level::off);
}

}  // namespace rdmove::fuzz
