// The application's end of the guest agent's socket (docs/agent-protocol.md, "Applications"), written without
// the project's own library: as a workload of the tests it must not share that library's mistakes. One
// thread, never blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace beat {

enum class AgentWord { Quiesce, Removed, Ready, Resume, Lost };

struct AgentMessage {
  AgentWord word;
  std::string id;  ///< Quiesce: the request's id as JSON text, for answer_released
};

class AgentSocket {
 public:
  explicit AgentSocket(std::string path) : path_(std::move(path)) {}
  ~AgentSocket();
  AgentSocket(const AgentSocket&) = delete;
  AgentSocket& operator=(const AgentSocket&) = delete;

  /// Connects and registers if the agent is there. Cheap to call again and again.
  void try_connect(const std::string& name);

  int fd() const { return fd_; }  ///< -1 while there is no agent
  std::vector<AgentMessage> read_messages();
  void answer_released(const std::string& id);
  /// How the one connection fares. Each call is a line: call it at a change. `last_blackout` < 0: none yet.
  void report(const std::string& state, bool up, std::chrono::milliseconds last_blackout,
              std::uint64_t resent);

 private:
  void handle_line(const std::string& line, std::vector<AgentMessage>& messages);
  void send_line(const std::string& line);
  void disconnect();

  std::string path_;
  std::string partial_;
  int fd_ = -1;
};

}  // namespace beat
