// rdma-beat: a workload for the lab's guests that notices every lost, repeated or wrong message, and how long
// the line was dead. The server runs on the peer that does not move and is the one that measures.

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "options.hpp"

namespace {

constexpr auto kUsage =
    "usage: rdma-beat server [--port P] [--status FILE]\n"
    "       rdma-beat client SERVER [--port P] [--interval-ms 5] [--count N] [--status FILE] [--agent "
    "SOCKET]\n";

bool parse(const std::vector<std::string>& words, beat::Options& options) {
  if (words.empty()) return false;
  std::size_t next = 1;
  if (words[0] == "client") {
    if (words.size() < 2) return false;
    options.server = words[next++];
  } else if (words[0] != "server") {
    return false;
  }
  for (; next + 1 < words.size(); next += 2) {
    const auto& value = words[next + 1];
    if (words[next] == "--port")
      options.port = value;
    else if (words[next] == "--interval-ms")
      options.interval = std::chrono::milliseconds(std::atoi(value.c_str()));
    else if (words[next] == "--count")
      options.count = std::strtoull(value.c_str(), nullptr, 10);
    else if (words[next] == "--status")
      options.status_path = value;
    else if (words[next] == "--agent")
      options.agent_path = value;
    else
      return false;
  }
  return next == words.size();
}

}  // namespace

beat::Signal beat::read_signal(int signals) {
  signalfd_siginfo info{};
  if (read(signals, &info, sizeof(info)) != sizeof(info)) return Signal::None;
  return info.ssi_signo == SIGUSR1 ? Signal::Stats : Signal::End;
}

int main(int argc, char** argv) {
  beat::Options options;
  if (!parse({argv + 1, argv + argc}, options)) {
    std::cerr << kUsage;
    return 2;
  }
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGUSR1, SIGINT, SIGTERM}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  return options.server.empty() ? beat::run_server(options, signals) : beat::run_client(options, signals);
}
