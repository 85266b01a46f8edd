// rdmove-failover: what a migration does when something goes wrong, tried on real hosts or on the lab.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>

#include "migration-tests/harness/matrix.hpp"
#include "migration-tests/harness/report.hpp"
#include "migration-tests/harness/runner.hpp"

namespace rdmove::harness {
namespace {

enum ExitCode { kAllPassed = 0, kSomeFailed = 1, kUsage = 2 };

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> only;
  std::string hosts;
  std::string junit;
  std::string html;
  std::string table;
  std::string table_before;
  bool all = false;
  std::size_t sample = 0;
  std::string of;
  std::uint64_t seed = 0;
  std::size_t first = 1;
  int seconds = 0;
  bool list = false;
};

// A second one ends the program at once; the first lets the scenario end, and clean up behind itself.
volatile std::sig_atomic_t interrupted = 0;
void interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int refuse(const std::string& sentence) {
  fmt::print(stderr, "rdmove-failover: {}\n", sentence);
  return kUsage;
}

bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "rdmove-failover: {} cannot be written\n", path);
  return static_cast<bool>(file);
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool report(const Options& options, const std::vector<ScenarioResult>& results) {
  const bool junit = write(options.junit, options.junit.empty() ? "" : junitOf(results));
  const bool html = write(options.html, options.html.empty() ? "" : htmlOf(results, "rdmove failover"));
  const bool table = write(
      options.table, options.table.empty() ? "" : mergedTable(options.table_before, matrixTable(results)));
  return junit && html && table;
}

void tellResult(const ScenarioResult& result) {
  fmt::print("          {}{} in {:.1f} s\n", toString(result.verdict),
             result.outcome.empty() ? "" : ", " + result.outcome,
             std::chrono::duration<double>(result.took).count());
  if (result.doubled_ticks != 0)
    fmt::print("          {} ticks of the guest are on both hosts\n", result.doubled_ticks);
  for (const std::string& note : result.notes) fmt::print("          noted: {}\n", note);
  for (const std::string& broken : result.broken) fmt::print("          broken: {}\n", broken);
  if (!result.why_skipped.empty()) fmt::print("          {}\n", result.why_skipped);
}

Result<Site> siteOf(const Options& options) {
  if (!options.hosts.empty()) return readSite(options.hosts);
  const char* build = std::getenv("RDMOVE_BUILD");
  return labSite(RDMOVE_LAB_COMMAND, build != nullptr ? build : RDMOVE_BUILD_DIR);
}

int runAll(const Options& options, const std::vector<Scenario>& scenarios) {
  const auto site = siteOf(options);
  if (!site) return refuse(site.error().sentence());
  // An emulated guest needs more than the 2 s that are the default.
  const Words more = site->lab ? Words{"--prepare-deadline", "20000"} : Words{};
  Runner runner(*site, more, [](const std::string& line) {
    fmt::print("  {}\n", line);
    std::fflush(stdout);
  });
  std::vector<ScenarioResult> results;
  const auto began = std::chrono::steady_clock::now();
  std::size_t number = options.first - 1;
  std::size_t failed = 0;
  for (const Scenario& scenario : scenarios) {
    ++number;
    if (options.seconds != 0 &&
        std::chrono::steady_clock::now() - began > std::chrono::seconds(options.seconds)) {
      fmt::print("the time is over: go on with --first {}\n", number);
      break;
    }
    if (interrupted != 0) break;
    fmt::print("[{}/{}] {}\n", number, scenarios.size() + options.first - 1, scenario.name);
    results.push_back(runner.run(scenario));
    tellResult(results.back());
    failed += results.back().verdict == Verdict::kFailed ? 1 : 0;
    // What is there is there, also when the next one is interrupted.
    if (!report(options, results)) return kUsage;
  }
  fmt::print("{} run, {} failed\n", results.size(), failed);
  return failed == 0 && interrupted == 0 && !results.empty() ? kAllPassed : kSomeFailed;
}

Result<std::vector<Scenario>> fromFiles(const Options& options) {
  std::vector<Scenario> all;
  for (const std::string& file : options.files) {
    auto some = readScenarios(file);
    if (!some) return some;
    for (Scenario& scenario : *some) {
      const bool wanted = options.only.empty() || std::find(options.only.begin(), options.only.end(),
                                                            scenario.name) != options.only.end();
      if (wanted) all.push_back(std::move(scenario));
    }
  }
  return all;
}

void addReports(CLI::App& app, Options& options) {
  app.add_option("--hosts", options.hosts,
                 "Real hosts, from this file; without it, the lab that RDMOVE_LAB names");
  app.add_option("--junit", options.junit, "Write JUnit XML there");
  app.add_option("--html", options.html, "Write the report there, one file with all timelines");
  app.add_option("--seconds", options.seconds, "Begin no scenario after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_flag("--list", options.list, "Only name the scenarios");
}

Result<std::vector<Scenario>> chosen(const Options& options) {
  auto scenarios = matrixScenarios();
  if (!options.of.empty()) {
    std::set<std::string> wanted;
    std::ifstream file(options.of);
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line.front() != '#') wanted.insert(line);
    }
    std::erase_if(scenarios, [&](const Scenario& scenario) { return wanted.erase(scenario.name) == 0; });
    if (!wanted.empty()) 
      return failure(ErrorCode::kBadInput, "read " + options.of, "there is no case '" + *wanted.begin() + "'",
                     "See rdmove-failover matrix --all --list.");
  }
  if (!options.all) {
    fmt::print("seed {}\n", options.seed);
    scenarios = sampleOf(std::move(scenarios), options.sample, options.seed);
  }
  scenarios.erase(scenarios.begin(), scenarios.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min(options.first - 1, scenarios.size())));
  return scenarios;
}

int start(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Moves a VM with rdmove while something goes wrong, and looks from outside whether all is as it must "
      "be.",
      "rdmove-failover");
  app.set_version_flag("--version", "rdmove-failover " RDMOVE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit code: 0 if every scenario passed or was skipped, 1 if one failed, 2 for a mistake in a file or "
      "on the "
      "command line.");
  CLI::App* files = app.add_subcommand("run", "Run the scenarios of files");
  files->add_option("FILE", options.files, "Scenarios, TOML")->required()->check(CLI::ExistingFile);
  files->add_option("--only", options.only, "Only scenarios of this name (may be given again)");
  CLI::App* matrix = app.add_subcommand("matrix", "Each victim at each journaled step");
  auto* all = matrix->add_flag("--all", options.all, "All of them");
  auto* sample = matrix->add_option("--sample", options.sample, "So many of them, by the seed")
                     ->check(CLI::PositiveNumber);
  all->excludes(sample);
  matrix->add_option("--seed", options.seed, "Which ones")->capture_default_str()->excludes(all);
  matrix->add_option("--of", options.of, "Only the cases that this file names, one a line")->check(CLI::ExistingFile);
  matrix->add_option("--first", options.first, "Go on with the case of this number")
      ->check(CLI::PositiveNumber);
  matrix->add_option(
      "--table", options.table,
      "Write a table in Markdown there; with --first, what an earlier run has put there stays");
  addReports(*files, options);
  addReports(*matrix, options);
  try {
    app.parse(argc, argv);
    if (matrix->parsed() && !options.all && options.sample == 0)
      throw CLI::ValidationError("matrix", "say --all, or --sample N");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAllPassed : kUsage;
  }
  const auto scenarios =
      matrix->parsed() ? chosen(options) : fromFiles(options);
  if (!scenarios) return refuse(scenarios.error().sentence());
  if (scenarios->empty()) return refuse("there is no such scenario: --list names them");
  if (options.list) {
    for (const Scenario& scenario : *scenarios) fmt::print("{}: {}\n", scenario.name, scenario.about);
    return kAllPassed;
  }
  if (options.first > 1) options.table_before = contents(options.table);
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  return runAll(options, *scenarios);
}

}  // namespace
}  // namespace rdmove::harness

int main(int argc, char** argv) {
  return rdmove::harness::start(argc, argv);
}
