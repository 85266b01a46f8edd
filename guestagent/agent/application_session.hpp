// One connection on the application socket. It may only register, answer a quiesce, and report how it fares,
// none of it too often: whatever else comes ends it, so one that floods or sends garbage is gone at once.
// Owned by itself while I/O is pending; loop thread.
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "guestagent/agent/line_budget.hpp"
#include "guestagent/protocol/application.hpp"
#include "guestagent/protocol/envelope.hpp"
#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/line_splitter.hpp"

namespace rdmove::agent {

class ApplicationSession : public std::enable_shared_from_this<ApplicationSession> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;
  struct Listener {
    std::function<void(ApplicationSession&)> registered;
    std::function<void(ApplicationSession&)> released;
    std::function<void(ApplicationSession&)> closed;  // once
  };

  ApplicationSession(Socket socket, std::int32_t pid, std::uint32_t uid, Timers& timers, Listener listener);

  void start();
  void close(const std::string& why);

  void quiesce(std::int64_t id, const protocol::application::Quiesce& message);
  void tell(const protocol::Notification& notification);
  void end_hold() { hold_ = Hold::None; }

  [[nodiscard]] protocol::ApplicationInfo info() const;

  [[nodiscard]] std::int32_t pid() const { return pid_; }
  [[nodiscard]] std::uint32_t uid() const { return uid_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_registered() const { return registered_; }
  /// Asked, and has not said that it let go.
  [[nodiscard]] bool is_asked() const { return hold_ == Hold::Asked || hold_ == Hold::Holding; }
  [[nodiscard]] bool has_released() const { return hold_ == Hold::Released; }

 private:
  using Hold = protocol::Hold;

  void read();
  void take(std::string_view line);
  void take_registration(const protocol::Request& request);
  void take_answer(const protocol::Response& response);
  void take_refusal(const protocol::ErrorResponse& refusal);
  void take_report(const protocol::Notification& notification);
  void send(const protocol::Envelope& envelope);
  void write();

  Socket socket_;
  std::int32_t pid_;  // of the process that connected, by SO_PEERCRED
  std::uint32_t uid_;
  Timers& timers_;
  Listener listener_;
  std::string name_;
  milliseconds registered_at_{0};
  std::optional<protocol::application::Report> report_;
  LineBudget budget_;
  bool registered_ = false;
  bool closed_ = false;
  Hold hold_ = Hold::None;
  std::int64_t quiesce_id_ = 0;
  protocol::LineSplitter splitter_;
  std::array<char, 2048> buffer_{};
  std::deque<std::string> out_;
  std::size_t out_bytes_ = 0;
  bool writing_ = false;
};

}  // namespace rdmove::agent
