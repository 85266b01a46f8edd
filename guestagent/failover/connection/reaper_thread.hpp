// The reaper's threads: one for what must be done by one (closing devices), and helpers for queue pairs: one,
// and more when they block. Owned by the loop.
#pragma once

#include <memory>

#include "guestagent/failover/connection/reaper.hpp"

namespace rdmove::failover::conn {

class ReaperThread : public Reaper {
 public:
  using Post = std::function<void(Done)>;  ///< hands `done` to the loop; any thread

  /// The port lives until the last endpoint is gone, which may be after the loop.
  ReaperThread(std::shared_ptr<RdmaPort> port, Post post);
  /// Waits for a moment. What still blocks then goes on by itself, and `done` is not called any more.
  ~ReaperThread() override;

  void destroy(std::unique_ptr<Endpoint> endpoint, Done done) override;
  void close(std::shared_ptr<Device> device, std::vector<std::unique_ptr<Endpoint>> pins, Done done) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rdmove::failover::conn
