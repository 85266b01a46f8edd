// The one thread that the shadow has in a program, with all signals blocked: keeps the line to the guest's
// agent, parks the process' devices when it is asked to let go of them, brings them back, and answers other
// shadows. Owned by the process' shadow; never ends before the process does.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "guestagent/failover/connection/agent_line.hpp"
#include "shadowdev/device/mover.hpp"
#include "shadowdev/device/peer_desk.hpp"
#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/process/relay_link.hpp"

namespace rdmove::shadow {

struct ControlOptions {
  std::string agent_socket = "/run/rdmove/agent.sock";
  std::string name;                                   ///< as the agent shows it
  std::function<std::vector<std::string>()> devices;  ///< what RDMA devices there are now, by name
  std::function<void(const std::string&)> say;        ///< what a user has to know
};

class ControlThread final : failover::conn::AgentListener {
 public:
  ControlThread(Engine& engine, RelayLink& link, ControlOptions options);
  void start();  ///< once

  /// Programs open devices between the two: not while a move wants them closed.
  class Opening {
   public:
    explicit Opening(ControlThread& control);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    ControlThread& control_;
  };

 private:
  using Time = failover::conn::Time;
  enum class At : std::uint8_t { Parking, Parked, Restoring };
  struct Move {
    /// With the control lock.
    Move(Engine& engine, VirtualContext& of)
        : pin(engine, of), context(&of.context), mover(engine, context) {}
    Pin pin;
    ibv_context* context;
    Mover mover;
    At at = At::Parking;
    std::string word;  ///< of the last failure
  };

  void run();
  void asked_to_quiesce(failover::conn::Milliseconds time) override;
  void device_unplugged() override {}
  void device_is_back() override;
  void agent_lost() override;
  void agent_found() override;

  void tick();
  void begin_moves();
  bool step(Move& move);  ///< true: it is over
  bool bring_back(Move& move);
  void end_hold();
  bool all_listen();
  void report();
  void watch_link();
  void pump();
  template <class T>
  bool noted(Move& move, const Result<T>& result);

  Engine& engine_;
  RelayLink& link_;
  PeerDesk desk_;
  ControlOptions options_;
  failover::conn::SteadyClock clock_;
  failover::conn::Poller poller_;
  failover::conn::TimerQueue timers_;
  failover::conn::Timer next_;
  failover::conn::Timer relink_;
  failover::conn::AgentLine line_;
  failover::conn::Poller::Watch watch_ = failover::conn::Poller::Watch::none;

  std::list<Move> moves_;
  bool moved_ =
      false;  ///< something of ours or of a peer's has moved: there may be work that waits for a try
  bool asked_ = false;      ///< the agent waits for our word
  bool goes_back_ = false;  ///< what is parked is to come back
  Time settles_until_{};
  Time listeners_until_{};
  Time deadline_{};
  Time parked_at_{};
  std::optional<failover::conn::Milliseconds> last_blackout_;

  std::mutex gate_;
  std::condition_variable gate_opens_;
  bool held_ = false;
  unsigned opening_ = 0;
};

}  // namespace rdmove::shadow
