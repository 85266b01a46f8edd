// How the subnet manager knows port 1 of a guest's InfiniBand device. Plain value, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmove {

struct SubnetPort {
  std::uint16_t lid = 0;             ///< 0: none was given yet
  std::vector<std::uint16_t> pkeys;  ///< by index; 0: a row that is not used
  std::vector<std::string> gids;     ///< in sysfs's form, the used rows
  bool operator==(const SubnetPort&) const = default;
};

}  // namespace rdmove
