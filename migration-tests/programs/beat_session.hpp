// What the server knows of one client process, over all its connections. Plain values and the present
// connection.
#pragma once

#include <memory>
#include <optional>

#include "clock.hpp"
#include "endpoint.hpp"

namespace beat {

struct Session {
  std::string name;
  std::unique_ptr<Endpoint> endpoint;  ///< none while the client is away
  unsigned connections = 0;
  std::uint64_t next_number = 0;  ///< the one expected; 0: none was received yet
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t errors = 0;  ///< broken contents, failed echoes and completions
  Time last_success{};       ///< of the connections before this one
  Time last_received{};
  double longest_gap_ms = 0;  ///< between two messages on one connection
  std::optional<double> last_blackout_ms;
  bool first_after_reconnect = false;
};

}  // namespace beat
