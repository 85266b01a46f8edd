// One VM's conversation: the channel that comes and goes, and the requests that outlive it.
//   Idle -> Opening (a worker) -> Greeting (hello is said) -> Ready; closed: Waiting (backoff) -> Opening, as
//   long as requests are outstanding, else Idle.
// Owned by its AgentLink; posts and timers hold it weakly. Loop thread only.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/agentlink/guest_answers.hpp"
#include "coordinator/agentlink/inbound_queue.hpp"
#include "coordinator/agentlink/libvirt_agent_link.hpp"
#include "guestagent/protocol/envelope.hpp"
#include "guestagent/protocol/hello.hpp"
#include "guestagent/protocol/line_splitter.hpp"

namespace rdmove {

class AgentSession : public std::enable_shared_from_this<AgentSession> {
 public:
  /// The agent's answer, or why there is none.
  using Handler = std::function<void(Result<Answer>)>;

  AgentSession(Hypervisor& hypervisor, boost::asio::io_context& loop, boost::asio::thread_pool& workers,
               DomainUuid domain, AgentLinkLimits limits);

  void start();  ///< opens ahead of the first request
  void request(std::string method, protocol::Payload params, std::chrono::milliseconds deadline,
               Handler done);
  void setPaused(bool paused);
  void shutdown();  ///< no handler is called afterwards

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kIdle, kOpening, kGreeting, kReady, kWaiting, kShutDown };

  struct Call {
    std::string method;
    std::string line;
    Clock::time_point deadline;
    Handler done;
  };

  /// The queue outlives the channel that calls it: members go in reverse order.
  struct Channel {
    std::shared_ptr<InboundQueue> queue;
    std::unique_ptr<ByteChannel> bytes;
  };

  void open();
  void opened(Channel channel, std::optional<Error> error);
  void reopenLater();
  void closed(const std::string& why);
  void sayHello();
  void greeted(const protocol::HelloAnswer& agent);
  void incompatible(const std::string& theirs);
  void sendAll();
  void sendAllSoon();
  void send(const std::string& line);

  void arrived();
  bool flooded();
  void take(std::string_view line);
  void onAnswer(const protocol::RequestId& id, Answer answer);
  void onHelloAnswer(const Answer& answer);
  void onHelloNotification(const protocol::Payload& params);
  void dropped(std::string_view what);

  void armDeadline();
  void expire();
  void failAll(const Error& error);

  Hypervisor& hypervisor_;
  boost::asio::io_context& loop_;
  boost::asio::thread_pool& workers_;
  const DomainUuid domain_;
  const AgentLinkLimits limits_;
  const std::string id_prefix_;  ///< random: after a migration another coordinator has the same channel

  State state_ = State::kIdle;
  Channel channel_;
  protocol::LineSplitter splitter_;
  bool skip_line_ = false;  ///< after a gap: up to the next '\n' nothing is whole
  std::string agent_instance_;
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t last_id_ = 0;
  std::string hello_id_;
  bool hello_rests_ = false;  ///< nobody answered it, and nobody asked since
  int hellos_ = 0;            ///< since the channel was opened

  std::chrono::milliseconds backoff_;
  std::optional<Clock::time_point> conflict_since_;
  std::string last_trouble_;
  boost::asio::steady_timer retry_;
  boost::asio::steady_timer deadline_;
  std::optional<Clock::time_point> paused_since_;

  Clock::time_point window_{};
  int lines_in_window_ = 0;
  Clock::time_point resent_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace rdmove
