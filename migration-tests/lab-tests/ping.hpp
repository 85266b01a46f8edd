// rdmove-ping in guests, as the tests of applications use it: it checks every byte at both ends and keeps its
// state in a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab.hpp"

namespace rdmove::lab {

/// One rdmove-ping in a guest, by name: its files there are /run/NAME.*. Ended with SIGINT, killed by the
/// destructor.
class Ping {
 public:
  /// `words`: what follows the program's name.
  Ping(std::string vm, std::string name, const std::string& words);
  ~Ping();
  Ping(const Ping&) = delete;
  Ping& operator=(const Ping&) = delete;

  [[nodiscard]] nlohmann::json totals() const;                    ///< the status file's first line
  [[nodiscard]] std::vector<nlohmann::json> connections() const;  ///< the others
  [[nodiscard]] std::uint64_t number(const char* key) const { return totals().value(key, std::uint64_t{0}); }
  [[nodiscard]] bool runs() const;
  void send_signal(const std::string& signal) const;

  /// Ends it with SIGINT and waits for that; what it printed, and its exit status.
  Outcome finish();

  [[nodiscard]] const std::string& vm() const { return vm_; }
  [[nodiscard]] std::string log() const;

 private:
  [[nodiscard]] std::string file(const char* kind) const { return "/run/" + name_ + "." + kind; }

  std::string vm_;
  std::string name_;
  bool finished_ = false;
};

/// All of the client's connections are up, and a message has come back on each since.
void expectFlows(const Ping& client, std::uint64_t connections, seconds limit = seconds(60));

/// Ends the client: status 0, and nothing lost, doubled, out of order or spoilt at its end.
void expectClean(Ping& client);

/// The server's own word on all that it was sent.
void expectCleanServer(const Ping& server);

}  // namespace rdmove::lab
