// Takes the device of one context away under its programs, and gives them another. One round does what can be
// done now and says whether there is more; whoever calls decides how often, which bounds everything. A round
// that fails may be called again: it goes on where it stopped. The process' control thread; asks peers
// without any lock.
//
//   begin_park() → park() until Done ──→ begin_restore(device) → restore() until Done
//        └ until anything is frozen: roll_back()
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "shadowdev/device/engine.hpp"
#include "shadowdev/device/vacuum.hpp"

namespace rdmove::shadow {

class Mover {
 public:
  enum class Step : std::uint8_t { Again, Done };

  Mover(Engine& engine, ibv_context* context) : engine_(engine), context_(VirtualContext::of(context)) {}

  /// Holds all sends. NotYet: a peer's move is under way; Failed: a thread stays inside the device.
  Result<void> begin_park();
  Result<Step> park();
  /// Nothing is frozen yet, so everything can go on as it was.
  [[nodiscard]] bool can_roll_back() const { return stage_ == Stage::Draining; }
  void roll_back();

  /// BadInput: this device has another GID, or less than is in use.
  Result<void> begin_restore(std::string_view device);
  Result<Step> restore();

  /// The device is gone without warning. Requests of unknown fate end as flush errors or QP_FATAL.
  void lose();

 private:
  enum class Stage : std::uint8_t { Live, Draining, Freezing, Clearing, Parked, Making, Connecting };
  struct Progress {
    bool asked = false;   ///< the peer may hold
    bool told = false;    ///< the peer holds
    bool agreed = false;  ///< nothing is under way in either direction
    bool frozen = false;  ///< the peer takes its QP away as well
    bool nobody = false;  ///< no shadow at the other end knows this connection
    bool done = false;
    bool tells_go = false;
    unsigned tries = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  Result<Step> drain(Lock& hold);
  Result<Step> freeze(Lock& hold);
  Result<Step> clear();
  Result<void> make();
  Result<Step> connect(Lock& hold);
  void reconnect(VirtualQp& qp, Progress& progress, Lock& hold);
  void announce(Lock& hold);
  void hold_senders(Lock& hold);
  void tell_senders(Question question, Lock& hold);
  [[nodiscard]] bool has_our_gids(const std::vector<ibv_gid_entry>& now) const;
  bool settle_with_peer(VirtualQp& qp, Progress& progress, Lock& hold);
  [[nodiscard]] Question about(const VirtualQp& qp, Ask what) const;
  std::optional<Answer> ask(VirtualQp& qp, const Question& question, Lock& hold);
  [[nodiscard]] bool is_here(const VirtualQp* qp) const;
  static bool has_peer(const VirtualQp& qp);
  tl::unexpected<Problem> failed(const char* what, int error) const;

  Engine& engine_;
  VirtualContext& context_;
  Stage stage_ = Stage::Live;
  bool asked_senders_ = false;                        ///< of datagrams, to keep them
  std::vector<std::pair<ibv_gid, ibv_gid>> senders_;  ///< ours, and those who do
  std::map<VirtualQp*, Progress> progress_;
  std::optional<Vacuum> vacuum_;
};

}  // namespace rdmove::shadow
