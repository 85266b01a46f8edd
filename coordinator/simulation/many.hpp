// Many simulations, one seed after another, until so many migrations were made.
#pragma once

#include <functional>
#include <vector>

#include "coordinator/simulation/simulation.hpp"

namespace rdmove::simulation {

struct Sum {
  std::uint64_t seeds = 0;
  std::uint64_t migrations = 0;
  std::uint64_t kills = 0;
  std::map<std::string, std::uint64_t> ends;
  std::map<std::string, std::uint64_t> taken;
  std::vector<Report> failures;
  std::chrono::milliseconds wall{0};
  std::chrono::duration<double> simulated{0};
};

/// To be called once, before the first journal is opened: a simulation is of one thread, so SQLite needs none
/// of its locks and counters. What it does is the same.
void quickenSqlite();

/// Stops early after `most_failures`. `before` is told of each seed that is begun, and what there is so far.
Sum runMany(std::uint64_t first_seed, std::uint64_t migrations, const std::filesystem::path& directory,
            std::size_t most_failures = 20,
            const std::function<void(std::uint64_t seed, const Sum&)>& before = {});

/// The same, told on standard output; 1 when an invariant did not hold. How far it is goes to standard error, so that
/// the seed is known on which the program itself ends.
int printMany(std::uint64_t first_seed, std::uint64_t migrations, const std::filesystem::path& directory,
              bool transitions);

}  // namespace rdmove::simulation
