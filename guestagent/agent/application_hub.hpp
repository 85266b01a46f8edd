// The application socket: who is registered, and asking all of them. One per agent; loop thread.
// Who may connect: everyone (mode 0666). Whoever can open an RDMA device can hold up a move anyway, and being
// registered gives no right beyond being asked; the number of connections is limited, also per user.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "guestagent/agent/application_session.hpp"
#include "guestagent/agent/applications.hpp"

namespace rdmove::agent {

class ApplicationHub final : public Applications {
 public:
  static constexpr std::size_t max_clients = 256;
  static constexpr std::size_t max_clients_per_user = 64;  // root excepted

  /// Replaces a socket that an earlier agent left. Throws std::system_error.
  ApplicationHub(boost::asio::io_context& io, Timers& timers, const std::filesystem::path& path);
  ~ApplicationHub() override;

  std::size_t count() const override;
  std::vector<std::int32_t> pids() const override;
  std::vector<protocol::ApplicationInfo> list() const override;
  void quiesce(const protocol::MigrationId& migration, std::chrono::milliseconds deadline,
               std::function<void()> on_all_released) override;
  std::vector<protocol::Holdout> unreleased() const override;
  std::vector<std::int32_t> released() const override;
  void removed() override;
  void resume() override;
  void ready(const protocol::MigrationId& migration, const std::vector<std::string>& addresses) override;

 private:
  using Session = std::shared_ptr<ApplicationSession>;

  void accept();
  void admit(ApplicationSession::Socket socket);
  void ask(ApplicationSession& session);
  void check_all_released();
  void end_hold(const protocol::Notification& word);
  std::vector<Session> registered() const;

  Timers& timers_;
  std::filesystem::path path_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  std::set<Session> sessions_;
  std::int64_t last_id_ = 0;
  std::optional<protocol::application::Quiesce> hold_;
  std::function<void()> on_all_released_;
};

}  // namespace rdmove::agent
