// N plain RDMA CM connections to a server: made, lost and made again in one of three ways (options.hpp). No
// librdmove.
#pragma once

#include <map>
#include <optional>

#include "../address_watch.hpp"
#include "../agent_socket.hpp"
#include "../clock.hpp"
#include "device.hpp"
#include "options.hpp"

namespace many {

class Client {
 public:
  Client(const Options& options, int signals);
  int run();

 private:
  enum class State { Idle, Resolving, Connecting, Up };
  struct Slot {
    State state = State::Idle;
    beat::Id id;
    std::uint64_t number = 1;  ///< the message that is next, or on its way
    bool in_flight = false;
    bool answered = false;  ///< since it was connected
    beat::Time next{};      ///< try, message, or end of the attempt
    std::chrono::milliseconds backoff{20};
  };

  void wait();
  void read_agent();
  void handle(const beat::CmEvent& event);
  void take(const Device::Completion& completion);
  void look();
  void begin();
  void start(std::uint32_t index);
  void connect(std::uint32_t index);
  void retry(std::uint32_t index, std::chrono::milliseconds after);
  void send(std::uint32_t index);
  void all_up();
  void end_round();
  void let_go();
  void quiesce(const std::string& request);
  void keep_canary(const sockaddr_storage& local);
  void keep_status();

  const Options options_;
  const int signals_;
  const std::uint64_t run_;
  beat::AgentSocket agent_;
  beat::AddressWatch addresses_;
  beat::Channel channel_;
  std::unique_ptr<Device> device_;
  std::vector<Slot> slots_;
  std::map<rdma_cm_id*, std::uint32_t> by_id_;
  beat::Id canary_;
  bool held_ = false;           ///< the agent has us
  bool away_ = true;            ///< no connection may be tried
  bool round_is_over_ = false;  ///< floor: let go before the next one
  beat::Time look_again_{};     ///< textbook: when to see whether there is a way
  beat::Time began_{};          ///< this round of connecting
  std::optional<beat::Time> ready_at_;
  std::uint32_t up_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t errors_ = 0;
  std::vector<double>
      round_ms_;  ///< from the begin (floor) or the agent's ready to the last one's first answer
  beat::Time next_status_{};
  beat::Time next_agent_try_{};
};

}  // namespace many
