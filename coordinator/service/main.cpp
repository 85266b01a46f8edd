// rdmoved's entry: arguments, configuration, log.
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "coordinator/service/daemon.hpp"
#include "coordinator/service/log_tail.hpp"

namespace {

void openLog(const rdmove::Config& config) {
  if (config.log_file.empty()) {
    spdlog::set_default_logger(spdlog::stderr_logger_mt("rdmoved"));
  } else {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(config.log_file).parent_path(), ignored);
    spdlog::set_default_logger(spdlog::basic_logger_mt("rdmoved", config.log_file));
  }
  rdmove::keepLogTail();
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::set_level(spdlog::level::from_str(config.log_level));
  spdlog::flush_on(spdlog::level::debug);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("rdmoved: moves virtual machines with RDMA devices between libvirt hosts");
  std::string path = "/etc/rdmove/rdmoved.toml";
  bool check = false;
  app.add_option("--config", path, "Configuration file")->capture_default_str();
  app.add_flag("--check", check, "Read the configuration, say whether it is right, and exit");
  app.set_version_flag("--version", "rdmoved " RDMOVE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto config = rdmove::readConfig(path);
  if (!config) {
    std::fprintf(stderr, "rdmoved: %s\n", config.error().sentence().c_str());
    return 2;
  }
  if (check) {
    std::printf("%s is right.\n", path.c_str());
    return 0;
  }
  try {
    openLog(*config);
    const auto ran = rdmove::runDaemon(*config);
    if (ran) return 0;
    spdlog::critical("{}", ran.error().sentence());
    std::fprintf(stderr, "rdmoved: %s\n", ran.error().sentence().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rdmoved: cannot start: %s\n", error.what());
  }
  return 1;
}
