// One time that the agent asks us to let go: owners finish, peers are told, everything goes to the reaper,
// and when nothing is left on any device, `released` is called. Owned by LoopCore; the loop's thread.
#pragma once

#include <functional>

#include "guestagent/failover/connection/hub.hpp"

namespace rdmove::failover::conn {

class QuiesceRound {
 public:
  QuiesceRound(Hub& hub, Milliseconds time, std::function<void()> released);
  ~QuiesceRound();  ///< called off, or done
  QuiesceRound(const QuiesceRound&) = delete;
  QuiesceRound& operator=(const QuiesceRound&) = delete;

  void start();

 private:
  enum class Phase { Finishing, Goodbye, Releasing, Released };
  void look();
  void say_goodbye();
  void release();
  void go_on_letting_go();

  Hub& hub_;
  const Time deadline_;
  std::function<void()> released_;
  Phase phase_ = Phase::Finishing;
  bool starting_ = false;
  unsigned rounds_ = 0;
  Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace rdmove::failover::conn
