// The command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "guestagent/ping/ring.hpp"

namespace rdmove::ping {

struct Options {
  bool is_server = false;
  std::string address = "0.0.0.0";  ///< the server's own
  std::string host;                 ///< whom a client calls
  std::string from;                 ///< the address it comes from; empty: the kernel's choice
  std::uint16_t port = 7472;
  std::uint32_t connections = 1;
  std::uint32_t size = 64;
  std::uint32_t rate = 100;  ///< messages a second and connection; 0: as many as are answered
  std::optional<std::uint64_t> count;
  std::optional<std::chrono::seconds> duration;
  std::chrono::seconds give_up{120};
  OneSided one_sided;
  std::uint32_t loops = 1;  ///< of a client, each with a thread and its share of the connections
  bool json = false;
  bool with_agent = true;
  std::string status_file;
};

/// The options, or the exit code of a run that is over (--help, a mistake).
std::variant<Options, int> parse(int argc, char** argv);

}  // namespace rdmove::ping
