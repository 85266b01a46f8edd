// The client of rdma-beat, on the guest that moves: keeps one RDMA CM connection, sends a numbered message
// per interval, lets go of the device when told (by the agent, or by DEVICE_REMOVAL) and connects again as
// soon as it can.
#pragma once

#include <optional>
#include <tuple>

#include "address_watch.hpp"
#include "agent_socket.hpp"
#include "clock.hpp"
#include "endpoint.hpp"
#include "options.hpp"

namespace beat {

class Client {
 public:
  Client(const Options& options, int signals);
  int run();

 private:
  enum class State { Waiting, Resolving, Connecting, Connected, Quiesced };

  void wait();
  void read_agent();
  void handle(const CmEvent& event);
  void start_attempt();
  void address_resolved();
  void route_resolved();
  void retry(const std::string& why, Clock::duration after);
  void let_go();
  void quiesce(const std::string& request);
  void keep_canary(sockaddr_storage local);
  void beat();
  void receive();
  void keep_status();
  void tell_agent();
  std::string status() const;
  Time next_deadline() const;

  const Options& options_;
  const int signals_;
  const std::uint64_t run_;
  std::string host_;
  AgentSocket agent_;
  AddressWatch addresses_;
  Channel channel_;
  Id id_;                               // while resolving; the canary while quiesced
  std::unique_ptr<Endpoint> endpoint_;  // from then on
  State state_ = State::Waiting;
  Time next_attempt_{};
  Time attempt_deadline_{};
  Clock::duration backoff_{};
  std::string last_complaint_;

  std::uint64_t number_ = 1;  ///< the message that is next, or in flight
  bool in_flight_ = false;
  Time sent_at_{};
  std::uint64_t echoed_ = 0;
  std::uint64_t resent_ = 0;
  std::uint64_t errors_ = 0;
  unsigned connections_ = 0;
  Time down_since_{};
  std::chrono::milliseconds last_blackout_{-1};  ///< none yet
  /// What the agent has been told; it is told again when this is not so any more.
  std::optional<std::tuple<State, std::uint64_t, std::chrono::milliseconds>> told_;
  Time next_agent_try_{};
  Time next_status_{};
};

}  // namespace beat
