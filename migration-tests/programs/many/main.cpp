// rdma-many: many plain RDMA CM connections, for the benchmark of coming back after a move. See
// docs/performance.md.
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "options.hpp"

namespace {

constexpr auto kUsage =
    "usage: rdma-many server [--port P] [--status FILE]\n"
    "       rdma-many floor|event|textbook SERVER [--port P] [--connections N] [--interval-ms 50] [--rounds "
    "5]\n"
    "                 [--status FILE] [--agent SOCKET]\n";

bool parse(const std::vector<std::string>& words, many::Options& options) {
  if (words.empty()) return false;
  std::size_t next = 1;
  if (words[0] != "server") {
    if (words.size() < 2) return false;
    if (words[0] == "floor")
      options.way = many::Way::Floor;
    else if (words[0] == "textbook")
      options.way = many::Way::Textbook;
    else if (words[0] != "event")
      return false;
    options.server = words[next++];
  }
  for (; next + 1 < words.size(); next += 2) {
    const auto& value = words[next + 1];
    const auto number = std::strtoul(value.c_str(), nullptr, 10);
    if (words[next] == "--port")
      options.port = static_cast<std::uint16_t>(number);
    else if (words[next] == "--connections")
      options.connections = static_cast<std::uint32_t>(number);
    else if (words[next] == "--interval-ms")
      options.interval = std::chrono::milliseconds(number);
    else if (words[next] == "--rounds")
      options.rounds = static_cast<std::uint32_t>(number);
    else if (words[next] == "--status")
      options.status_path = value;
    else if (words[next] == "--agent")
      options.agent_path = value;
    else
      return false;
  }
  return next == words.size() && options.connections > 0 && options.connections <= 4096;
}

}  // namespace

int main(int argc, char** argv) {
  many::Options options;
  if (!parse({argv + 1, argv + argc}, options)) {
    std::cerr << kUsage;
    return 2;
  }
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  return options.server.empty() ? many::run_server(options, signals) : many::run_client(options, signals);
}
