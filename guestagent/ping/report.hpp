// What is printed and what goes into the status file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guestagent/ping/tally.hpp"

namespace rdmove::ping {

struct ConnectionReport {
  std::uint64_t number = 0;
  std::string peer;
  std::string state;  ///< connecting, up, down, gone
  std::string ended;  ///< why, if it is gone
  std::uint64_t sent = 0;
  std::uint64_t resent = 0;
  const Tally* tally = nullptr;
};

struct Totals {
  std::uint64_t connections = 0, up = 0, sent = 0, delivered = 0, resent = 0, blackouts = 0;
  std::uint64_t lost = 0, duplicated = 0, reordered = 0, corrupted = 0;
  std::uint64_t written = 0, read_back = 0;  ///< one-sided operations that were done, and found right
  std::chrono::microseconds longest{0};
  /// Client: from the word that the device is there again to an answer on each connection.
  std::chrono::microseconds last_return{0};
  void add(const ConnectionReport& connection);
  [[nodiscard]] bool is_clean() const { return lost + duplicated + reordered + corrupted == 0; }
};

std::string milliseconds(std::chrono::microseconds time);  ///< "312.4 ms"
std::string to_text(const ConnectionReport& connection);
std::string to_text(const Totals& totals, const char* role);
/// One line for all, then one for each.
std::string to_json_lines(const Totals& totals, const char* role,
                          const std::vector<ConnectionReport>& connections);

/// Readers see the old or the new one, never half of it. False: it could not be written, and errno says why.
bool replace_file(const std::string& path, const std::string& text);

}  // namespace rdmove::ping
