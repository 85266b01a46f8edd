#include "coordinator/simulation/many.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

namespace rdmove::simulation {

void quickenSqlite() {
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1200, 400);
}

Sum runMany(std::uint64_t first_seed, std::uint64_t migrations, const std::filesystem::path& directory,
            std::size_t most_failures, const std::function<void(std::uint64_t seed, const Sum&)>& before) {
  const auto began = std::chrono::steady_clock::now();
  Sum sum;
  for (std::uint64_t seed = first_seed; sum.migrations < migrations; ++seed) {
    if (before) before(seed, sum);
    Simulation simulation(seed, directory);
    Report report = simulation.run();
    ++sum.seeds;
    sum.migrations += report.migrations;
    sum.kills += report.kills;
    sum.simulated += report.virtual_time;
    for (const auto& [end, count] : report.ends) sum.ends[end] += count;
    for (const auto& [transition, count] : report.taken) sum.taken[transition] += count;
    if (report.violation) sum.failures.push_back(std::move(report));
    if (sum.failures.size() >= most_failures) break;
  }
  sum.wall = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  return sum;
}

int printMany(std::uint64_t first_seed, std::uint64_t migrations, const std::filesystem::path& directory,
              bool transitions) {
  const bool live = ::isatty(STDERR_FILENO) != 0;
  std::uint64_t next = 0;
  std::size_t told = 0;
  const auto tell = [&](const Sum& of) {  // as it is found: the rest may take the night
    for (; told < of.failures.size(); ++told) {
      const Report& failure = of.failures[told];
      fmt::print("seed {}: VIOLATION of \"{}\": {}\n", failure.seed, failure.violation->rule, failure.violation->what);
    }
    std::fflush(stdout);
  };
  const auto progress = [&](std::uint64_t seed, const Sum& so_far) {
    tell(so_far);
    if (!live && so_far.migrations < next) return;
    next = so_far.migrations + 10'000;
    fmt::print(stderr, "{}seed {}, {} migrations, {} seeds failed{}", live ? "\r" : "", seed, so_far.migrations,
               so_far.failures.size(), live ? "" : "\n");
  };
  const Sum sum = runMany(first_seed, migrations, directory, 20, progress);
  tell(sum);
  if (transitions) {
    for (const auto& [transition, count] : sum.taken) fmt::print("{:9} {}\n", count, transition);
  }
  for (const auto& [end, count] : sum.ends) fmt::print("{:9} {}\n", count, end);
  const double wall = static_cast<double>(sum.wall.count()) / 1000;
  fmt::print("{} migrations of seeds {}..{}, {} kills, {:.0f} simulated hours in {:.1f} s; {} seeds failed\n",
             sum.migrations, first_seed, first_seed + sum.seeds - 1, sum.kills, sum.simulated.count() / 3600,
             wall, sum.failures.size());
  return sum.failures.empty() ? 0 : 1;
}

}  // namespace rdmove::simulation
