// rdmove-shadow: looks at snapshots of what the shadow device holds (docs/snapshot-format.md), and starts
// programs with the libraries that stand before libibverbs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "shadowdev/model/run_program.hpp"
#include "shadowdev/model/snapshot.hpp"
#include "shadowdev/model/text.hpp"

namespace {

using namespace rdmove::shadow;

constexpr int kDiffers = 1;
constexpr int kUnreadable = 2;

Result<model::Process> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return problem(ProblemCode::BadInput,
                   fmt::format("{} cannot be opened. Is it there, and readable?", path));
  std::vector<char> bytes;
  for (std::istreambuf_iterator<char> at(file), end; at != end && bytes.size() <= model::kMostBytes; ++at)
    bytes.push_back(*at);
  return model::decode(std::as_bytes(std::span(bytes)));
}

int unreadable(const std::string& path, const Problem& problem) {
  fmt::print(stderr, "rdmove-shadow: {}: {}\n", path, problem.message);
  return kUnreadable;
}

int run_dump(const std::string& path, bool deep) {
  const auto process = read(path);
  if (!process) return unreadable(path, process.error());
  fmt::print("{}", model::dump(*process, deep));
  return 0;
}

int run_check(const std::string& path) {
  const auto process = read(path);
  if (!process) return unreadable(path, process.error());
  fmt::print("{}: whole: {} contexts, {} QPs, {} MRs, {} CQs, {} SRQs\n", path, process->contexts.size(),
             process->qps.size(), process->regions.size(), process->cqs.size(), process->srqs.size());
  return 0;
}

int run_diff(const std::string& first, const std::string& second) {
  const auto before = read(first);
  if (!before) return unreadable(first, before.error());
  const auto after = read(second);
  if (!after) return unreadable(second, after.error());
  const auto differences = model::diff(*before, *after);
  for (const std::string& line : differences) fmt::print("{}\n", line);
  return differences.empty() ? 0 : kDiffers;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shows what the shadow device holds of a process' RDMA objects.", "rdmove-shadow");
  app.set_version_flag("--version", "rdmove-shadow " RDMOVE_VERSION);
  app.require_subcommand(1);
  std::string first;
  std::string second;
  bool deep = false;
  auto* dump = app.add_subcommand("dump", "prints a snapshot, one line an object");
  dump->add_option("SNAPSHOT", first, "the file")->required();
  dump->add_flag("--deep", deep, "with completions, receives and sends that are held");
  auto* diff = app.add_subcommand("diff", "prints what differs; 1 if anything does");
  diff->add_option("FIRST", first, "the file from before")->required();
  diff->add_option("SECOND", second, "the file from after")->required();
  auto* check = app.add_subcommand("check", "whether a snapshot is whole; 2 if not");
  check->add_option("SNAPSHOT", first, "the file")->required();
  RunOptions options{RDMOVE_SHADOW_LIBRARIES, false, {}};
  auto* run = app.add_subcommand("run", "starts a program with our libibverbs.so.1 and librdmacm.so.1 first");
  run->add_option("--libraries", options.libraries, "the directory that they are in")->capture_default_str();
  run->add_flag("--require", options.require, "do not start the program without them");
  run->add_option("PROGRAM", options.command, "the program and its arguments, after --")->required();
  CLI11_PARSE(app, argc, argv);
  if (run->parsed()) return run_program(options);
  if (dump->parsed()) return run_dump(first, deep);
  if (diff->parsed()) return run_diff(first, second);
  return run_check(first);
}
