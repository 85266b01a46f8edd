// One connection: its endpoint of the moment, what the policy wants, and what the owner is told. Kept alive
// by its Connection and, during callbacks, by itself. The loop's thread.
//
//   connection_core.cpp       life: made, held, lost, gone
//   connection_attempt.cpp    our calls
//   connection_answer.cpp     the peer's calls, and what both share: a queue pair, what is said, and being up
//   connection_traffic.cpp    work requests, completions, keepalive, memory
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/failover/connection/greeter.hpp"
#include "guestagent/failover/connection/hub.hpp"
#include "guestagent/failover/connection/recall_policy.hpp"
#include "rdmove/connection.hpp"

namespace rdmove::failover {

class RegionCore;

class ConnectionCore : public std::enable_shared_from_this<ConnectionCore>, public conn::EndpointOwner {
 public:
  /// What is known of the other side.
  struct Peer {
    SocketAddress service;  ///< where it was first called, or where it came from
    std::uint64_t token = 0;
    std::uint64_t incarnation = 0;
    std::uint16_t recall_port = 0;
    std::vector<std::byte> application;
    bool is_known = false;  ///< has said hello
  };

  ConnectionCore(conn::Hub& hub, conn::Role role, std::uint64_t id, const ConnectionOptions& options,
                 ConnectionHandler& handler, Peer peer, std::optional<SocketAddress> local);
  ~ConnectionCore() override;

  // Its handle.
  static std::unique_ptr<Connection> handle(std::shared_ptr<ConnectionCore> core);
  void attach(Connection& handle);
  void start();
  void close();
  void restart();
  void quiesced();
  Result<void> post_send(ibv_send_wr& first);
  Result<void> post_receive(ibv_recv_wr& first);
  Result<std::unique_ptr<Region>> register_memory(void* address, std::size_t length, int access);
  Result<std::unique_ptr<Region>> use_memory(std::shared_ptr<conn::MemoryPiece> piece);
  void forget(RegionCore& region);
  void greet_by(conn::Greeter& greeter) { greeter_ = &greeter; }
  [[nodiscard]] ConnectionState state() const { return state_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] SocketAddress local() const { return local_.value_or(SocketAddress()); }
  [[nodiscard]] SocketAddress peer() const { return peer_.service; }
  [[nodiscard]] std::span<const std::byte> peer_private_data() const { return peer_.application; }
  [[nodiscard]] std::chrono::milliseconds last_blackout() const { return last_blackout_; }
  [[nodiscard]] std::uint64_t failovers() const { return failovers_; }
  void count_resent(std::uint64_t messages);  ///< by a channel
  [[nodiscard]] std::uint64_t resent() const { return resent_; }
  [[nodiscard]] ibv_qp* queue_pair() const { return endpoint_ ? endpoint_->queue_pair() : nullptr; }
  [[nodiscard]] ibv_pd* protection_domain() const;

  // The hub.
  [[nodiscard]] bool is_called_by(const conn::Hello& hello) const;
  [[nodiscard]] bool is_acceptor() const { return role_ == conn::Role::Acceptor; }
  void called(conn::CmEvent& event, const conn::Hello& hello);
  void hold();
  void unhold();
  void way_appeared();
  void device_left(conn::DeviceNumber device);
  void device_failed(conn::DeviceNumber device);
  void loop_ended();  ///< no hub any more: all is gone, nobody is told

  // A move that the agent announced: quiesce(), say_goodbye() when all are ready, then let_go().
  using Progress = std::function<void()>;  ///< the connection got further: look again
  void quiesce(conn::Time deadline, Progress progress);
  void say_goodbye();
  void let_go();
  [[nodiscard]] bool is_busy() const { return state_ == ConnectionState::Up && quiescing_ && !quiesced_; }
  [[nodiscard]] bool is_leaving() const { return stage_ == Stage::Leaving; }

 private:
  enum class Stage {
    None,
    Resolving,  // our call: the address
    Routing,    // the route
    Routed,     // waits until the old queue pair is gone
    Calling,    // REQ is sent
    Parked,     // their call: waits likewise
    Answering,  // REP is sent
    Established,
    Leaving,  // the goodbye is said
  };

  void cm_event(conn::CmEvent& event) override;
  void completion_event() override;
  void queue_failed() override { lose(DownReason::Broken); }

  void drive();
  void lose(DownReason reason);
  void end(GoneReason reason, std::string message);
  void retire_endpoint();

  void call(conn::Target target);
  void begin_attempt();
  void abandon(conn::Failure failure, const std::string& why);
  void take_attempt_down();
  void address_resolved();
  void place_call();
  void answer();
  void answered(const conn::CmEvent& event);
  void rejected(const conn::CmEvent& event);
  void refused(const conn::Refusal& refusal);
  void established();
  bool open_queue();
  /// Where the peer is called, as the gate has it.
  const std::string& lane(std::uint16_t port);
  void say_greeting(std::span<const std::byte> heard);
  void learn(const conn::Hello& hello);
  [[nodiscard]] conn::Hello hello() const;
  [[nodiscard]] conn::CallWords words(const std::vector<std::byte>& data, std::uint8_t remote_reads) const;
  void old_queue_gone(std::uint64_t generation);

  Result<std::unique_ptr<Region>> enlist(std::unique_ptr<RegionCore> region);

  enum class Handing { All, OnlyGood };
  void hand_over(Handing handing);
  void keep_alive();

  conn::Hub* hub_;
  const conn::Role role_;
  const std::uint64_t id_;
  const std::uint64_t own_token_;
  const ConnectionOptions options_;
  ConnectionHandler* handler_;
  conn::Greeter* greeter_ = nullptr;
  Connection* handle_ = nullptr;
  Peer peer_;
  std::optional<SocketAddress> local_;
  conn::RecallPolicy policy_;

  ConnectionState state_ = ConnectionState::Connecting;
  Stage stage_ = Stage::None;
  std::unique_ptr<conn::Endpoint> endpoint_;
  std::shared_ptr<conn::Device> device_;
  conn::DeviceNumber last_device_ = conn::DeviceNumber::none;
  conn::Target target_ = conn::Target::Service;
  std::string lane_;  ///< to lane_port_; text is a good part of what a call costs here
  std::uint16_t lane_port_ = 0;
  conn::CallKind call_kind_ = conn::CallKind::First;  ///< of the call under way
  std::unique_ptr<conn::BacklogGate::Ticket> ticket_;
  bool entering_ = false;
  bool admitted_ = false;
  std::uint8_t agreed_reads_ = 0;  ///< for the answer
  std::vector<std::byte> said_;    ///< our greeting in the call under way, or in the answer to it
  std::vector<std::byte> heard_;   ///< the caller's
  std::uint32_t epoch_ = 0;
  unsigned old_queues_ = 0;  ///< with the reaper, and perhaps still writing into the owner's memory
  std::uint64_t generation_ = 0;
  std::string last_trouble_;

  bool quiescing_ = false;
  bool quiesced_ = false;
  Progress progress_;

  bool early_completions_ = false;
  bool handing_over_ = false;
  std::optional<DownReason>
      loss_after_handing_;  ///< what is said inside completed() waits for the batch's end
  bool keepalive_posted_ = false;
  std::uint32_t sends_posted_ = 0;  ///< and not handed over
  std::uint32_t receives_posted_ = 0;
  conn::Time last_completion_{};
  std::vector<RegionCore*> regions_;

  conn::Time down_since_{};
  std::chrono::milliseconds last_blackout_{0};
  std::uint64_t failovers_ = 0;
  std::uint64_t resent_ = 0;
  conn::Timer policy_timer_;
  conn::Timer keepalive_timer_;
};

/// What Connection::connect() does once its arguments are known to be good.
std::unique_ptr<Connection> connect_on(conn::Hub& hub, const SocketAddress& peer,
                                       const ConnectionOptions& options, ConnectionHandler& handler,
                                       const std::optional<SocketAddress>& from);

}  // namespace rdmove::failover
