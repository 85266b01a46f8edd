// The command line of rdma-beat.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace beat {

struct Options {
  std::string server;  ///< empty: be the server
  std::string port = "7500";
  std::chrono::milliseconds interval{5};
  std::uint64_t count = 0;  ///< client: end after so many echoes; 0: never
  std::string status_path = "/run/rdma-beat.json";
  std::string agent_path = "/run/rdmove/agent.sock";
};

/// Both return the process's exit status; `signals` is a signalfd for SIGUSR1 (say the counters), SIGINT,
/// SIGTERM (end).
int run_server(const Options& options, int signals);
int run_client(const Options& options, int signals);

enum class Signal { None, Stats, End };
Signal read_signal(int signals);

}  // namespace beat
