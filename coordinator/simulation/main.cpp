// rdmove_simulate: simulated migrations by the thousand, or one seed with its trace (docs/reliability.md).
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "coordinator/simulation/many.hpp"

namespace {

int one(std::uint64_t seed, const std::filesystem::path& directory, bool log) {
  spdlog::set_level(log ? spdlog::level::debug : spdlog::level::off);
  rdmove::simulation::Simulation simulation(seed, directory,
                                            [](const std::string& line) { fmt::print("{}\n", line); });
  const auto report = simulation.run();
  fmt::print("seed {}: {} migrations, {} kills, {:.1f} s\n", seed, report.migrations, report.kills,
             static_cast<double>(report.virtual_time.count()) / 1e6);
  for (const auto& [end, count] : report.ends) fmt::print("  {}: {}\n", end, count);
  if (!report.violation) return 0;
  fmt::print("VIOLATION of \"{}\": {}\n", report.violation->rule, report.violation->what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulated migrations: the real coordinators and journals on two simulated hosts");
  std::uint64_t seed = 0, count = 0, first = 1;
  bool transitions = false, log = false;
  std::string directory = "/dev/shm";
  app.add_option("--seed", seed, "Run this one and print all that happens");
  app.add_option("--count", count, "Run as many migrations as this, and print what came of them");
  app.add_option("--first-seed", first, "Begin with this seed")->capture_default_str();
  app.add_option("--directory", directory, "Where the journals are made, best a tmpfs")
      ->capture_default_str();
  app.add_flag("--transitions", transitions, "With --count: every transition that was taken, and how often");
  app.add_flag("--log", log, "With --seed: the daemons' own log, too");
  CLI11_PARSE(app, argc, argv);
  const auto place = std::filesystem::path(directory) / fmt::format("rdmove-simulate-{}", getpid());
  rdmove::simulation::quickenSqlite();
  int status = 0;
  if (count == 0) {
    status = one(seed, place, log);
  } else {
    spdlog::set_level(spdlog::level::off);
    status = rdmove::simulation::printMany(first, count, place, transitions);
  }
  std::filesystem::remove_all(place);
  return status;
}
