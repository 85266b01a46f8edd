// How many calls may be on their way to each peer at once: a listener that gets more than its backlog drops
// them, and each then waits for its retransmission (45 s for 64 calls at a backlog of 4). Owned by the hub;
// the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

namespace rdmove::failover::conn {

class BacklogGate {
 public:
  /// A place in the queue, then a slot. Destroying it gives up either.
  class Ticket;
  using Go = std::function<void()>;

  BacklogGate();
  ~BacklogGate();

  /// `go` is called once, when there is room: perhaps before this returns.
  std::unique_ptr<Ticket> enter(const std::string& peer, Go go);

  void learn(const std::string& peer, std::uint16_t backlog);
  [[nodiscard]] std::size_t in_flight(const std::string& peer) const;

  /// A process that is started anew is called at another port, so each would be one more. When there are too
  /// many, those that nobody calls are forgotten, with what they told.
  static constexpr std::size_t most_idle_peers = 4096;
  [[nodiscard]] std::size_t known_peers() const { return lanes_.size(); }

 private:
  struct Lane;
  std::shared_ptr<Lane> lane_of(const std::string& peer);
  std::map<std::string, std::shared_ptr<Lane>> lanes_;
  std::size_t forget_at_ = most_idle_peers;
};

class BacklogGate::Ticket {
 public:
  Ticket(std::shared_ptr<Lane> lane, Go go);
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

 private:
  friend struct Lane;
  std::shared_ptr<Lane> lane_;
  Go go_;
  bool inside_ = false;
  std::list<Ticket*>::iterator place_;
};

}  // namespace rdmove::failover::conn
