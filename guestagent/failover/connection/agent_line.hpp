// The line to the guest's agent (docs/agent-protocol.md, "Applications"). An agent that is not there costs
// one connect() now and then. Owned by the loop; its thread.
#pragma once

#include <optional>
#include <string>

#include "guestagent/failover/connection/poller.hpp"
#include "guestagent/failover/connection/timer_queue.hpp"
#include "guestagent/protocol/envelope.hpp"
#include "guestagent/protocol/line_splitter.hpp"

namespace rdmove::failover::conn {

/// What the agent says.
class AgentListener {
 public:
  virtual ~AgentListener() = default;
  /// Everything on all devices is to go within `time`; then released().
  virtual void asked_to_quiesce(Milliseconds time) = 0;
  virtual void device_unplugged() = 0;
  virtual void device_is_back() = 0;  ///< or the move was called off
  virtual void agent_lost() = 0;      ///< nobody will say that the device is back
  virtual void agent_found() {}       ///< we are registered
};

class AgentLine {
 public:
  AgentLine(std::string path, std::string name, Poller& poller, TimerQueue& timers, const Clock& clock,
            AgentListener& listener);
  ~AgentLine();
  AgentLine(const AgentLine&) = delete;
  AgentLine& operator=(const AgentLine&) = delete;

  void start();     ///< registers, now and whenever the agent is there
  void released();  ///< the answer to the last asked_to_quiesce()
  void notify(const protocol::Notification& notification);
  [[nodiscard]] bool is_registered() const { return registered_; }

 private:
  bool connect();
  void read();
  void take(std::string_view line);
  void take_answer(const protocol::Response& response);
  void send(const protocol::Envelope& envelope);
  void lose();

  const std::string path_;
  const std::string name_;
  Poller& poller_;
  TimerQueue& timers_;
  const Clock& clock_;
  AgentListener& listener_;
  protocol::LineSplitter splitter_;
  int fd_ = -1;
  bool registered_ = false;
  std::optional<protocol::RequestId> asked_;
  Poller::Watch watch_ = Poller::Watch::none;
  Timer retry_;
};

}  // namespace rdmove::failover::conn
