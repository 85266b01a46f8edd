// The command line of rdma-many.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace many {

enum class Way {
  Floor,     ///< connect all at once, measure, disconnect, again: on a device that never leaves
  Event,     ///< let go and come back by events, everything in flight
  Textbook,  ///< look each second whether there is a way again, then connect one after the other
};

struct Options {
  Way way = Way::Event;
  std::string server;  ///< empty: be the server
  std::uint16_t port = 7600;
  std::uint32_t connections = 1;
  std::uint32_t rounds = 5;                ///< floor
  std::chrono::milliseconds interval{50};  ///< between two messages of one connection
  std::string status_path = "/run/rdma-many.json";
  std::string agent_path = "/run/rdmove/agent.sock";
};

/// Both return the process's exit status; `signals` is a signalfd for SIGINT and SIGTERM.
int run_server(const Options& options, int signals);
int run_client(const Options& options, int signals);

}  // namespace many
