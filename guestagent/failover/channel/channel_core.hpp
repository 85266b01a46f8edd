// A Channel's inside: a Connection, the session over it, and what the application is told. Kept alive by its
// Channel, and by itself during callbacks, in which the application may destroy the Channel. The loop's
// thread.
#pragma once

#include <memory>
#include <optional>

#include "guestagent/failover/channel/verbs_link.hpp"
#include "guestagent/failover/connection/greeter.hpp"
#include "guestagent/failover/connection/hub.hpp"
#include "rdmove/channel.hpp"

namespace rdmove::failover {

class ChannelCore final : public std::enable_shared_from_this<ChannelCore>,
                          public ConnectionHandler,
                          public conn::Greeter,
                          public channel::SessionObserver,
                          public channel::Timekeeper,
                          public channel::WorkQueue {
 public:
  static Result<channel::SessionOptions> check(const ChannelOptions& options);
  static ConnectionOptions connection_options(const ChannelOptions& options,
                                              const channel::SessionOptions& session);

  ChannelCore(conn::Hub& hub, const channel::SessionOptions& options, ChannelHandler& handler);

  static std::unique_ptr<Channel> handle(std::shared_ptr<ChannelCore> core);
  void attach(Channel& handle) { handle_ = &handle; }
  void own(std::unique_ptr<Connection> connection);
  void close();
  void finish();
  Result<void> register_region(std::string_view name, void* address, std::size_t length, RegionAccess access);
  Result<void> withdraw_region(std::string_view name);

  [[nodiscard]] channel::Session& session() { return session_; }
  [[nodiscard]] const channel::Session& session() const { return session_; }
  [[nodiscard]] const Connection* connection() const { return connection_.get(); }
  [[nodiscard]] ConnectionState state() const;

 private:
  // ConnectionHandler
  void opened(Connection& connection) override;
  void up(Connection&) override;
  void quiesce(Connection&, std::chrono::steady_clock::time_point deadline) override;
  void down(Connection&, DownReason reason) override;
  void gone(Connection&, const Gone& why) override;
  void completed(Connection&, const ibv_wc& completion) override;
  // Greeter
  std::vector<std::byte> greeting(std::span<const std::byte> heard) override;
  void greeted(std::span<const std::byte> heard) override { heard_ = channel::read_greeting(heard); }
  // SessionObserver
  void ready() override;
  void received(std::span<const std::byte> message) override { handler_.received(*handle_, message); }
  void acknowledged(std::uint64_t number) override;
  void writable() override { handler_.writable(*handle_); }
  void regions_changed() override { handler_.regions_changed(*handle_); }
  void drained() override;
  void finished() override;
  void failed(const std::string& why) override;
  // Timekeeper
  channel::Clock::time_point now() override;
  void wake_at(channel::Clock::time_point when) override;
  // WorkQueue
  bool post_send(ibv_send_wr& request) override {
    return active_ != nullptr && active_->post_send(request).has_value();
  }
  bool post_receive(ibv_recv_wr& request) override {
    return active_ != nullptr && active_->post_receive(request).has_value();
  }
  void restart(const std::string& why) override;

  void end(const Gone& why);
  void tell_resent();  // before the connection ends: it counts no more then
  Result<void> register_memory(Connection& connection);
  Result<std::unique_ptr<Region>> make_region(void* address, std::size_t length, RegionAccess access);

  conn::Hub& hub_;
  ChannelHandler& handler_;
  Channel* handle_ = nullptr;
  // Before the link: regions are taken off the device while their connection is there.
  std::unique_ptr<Connection> connection_;
  Connection* active_ = nullptr;  // known from the first callback on, which may come before own()
  channel::VerbsLink link_;
  std::shared_ptr<conn::MemoryPiece> memory_;  // of the slab
  channel::Session session_;
  conn::Timer timer_;
  bool is_registered_ = false;
  std::optional<channel::Greeting> heard_;  // for this link
  std::uint64_t resent_told_ = 0;
  bool is_up_ = false;
  bool is_saying_goodbye_ = false;
  bool has_ended_ = false;
  std::optional<Gone> own_end_;  // why this side closes the connection
};

}  // namespace rdmove::failover
