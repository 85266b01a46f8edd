// Answers clients, each connection a session of its own. A client that was started anew is a new session; its
// old one ends when nobody has listened at the old process' recall port for a while, or by --give-up.
#pragma once

#include <map>
#include <memory>

#include "guestagent/ping/introduction.hpp"
#include "guestagent/ping/runner.hpp"
#include "guestagent/ping/stream_end.hpp"
#include "rdmove/connection.hpp"

namespace rdmove::ping {

failover::ChannelOptions channel_options(const Options& options, std::uint32_t size);

class Server final : public Role, public failover::ListenerHandler {
 public:
  explicit Server(const Options& options) : options_(options) {}
  failover::Result<void> start(failover::Loop& loop);

  [[nodiscard]] const char* name() const override { return "server"; }
  Clock::time_point tick(Clock::time_point now) override;
  void interrupted() override { is_interrupted_ = true; }
  [[nodiscard]] bool is_over() const override { return is_interrupted_; }
  [[nodiscard]] std::vector<ConnectionReport> report() const override;
  [[nodiscard]] Totals totals() const override;

  void requested(failover::ConnectionRequest& request) override;

 private:
  const Options& options_;
  std::unique_ptr<failover::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<ServerEnd>> sessions_;
  std::uint64_t next_ = 1;
  bool has_one_ended_ = false;
  Totals ended_;  // of the sessions that are forgotten
  bool is_interrupted_ = false;
};

}  // namespace rdmove::ping
