// One world from its seed to its rest: daemons, operators who start migrations, faults, and the invariants at
// every step. The same seed is the same run. Needs a directory for the two journals, best on a tmpfs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

struct Report {
  std::uint64_t seed = 0;
  std::optional<Violation> violation;
  unsigned migrations = 0;                ///< begun, whatever became of them
  std::map<std::string, unsigned> ends;   ///< "departure completed"
  std::map<std::string, unsigned> taken;  ///< transitions: "departure Preparing -> Unplugging"
  unsigned kills = 0;
  Duration virtual_time{0};
};

class Simulation {
 public:
  /// `directory` is emptied; `trace` gets a line for all that happens, if there is one.
  Simulation(std::uint64_t seed, std::filesystem::path directory,
             std::function<void(const std::string&)> trace = {});
  ~Simulation();

  Report run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rdmove::simulation
