// The completion queues that the connections of a device share, and whose each completion is. One queue for
// many, because to make one costs as much as half a queue pair, for each connection that comes back. Owned by
// the device; the loop's thread, but for leave().
//
// A number may be given to a new queue pair while completions of the old one are still in the queue. So a
// queue is looked through, and what is there is given to whom it was for, before a number gets a new owner.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class CompletionPool {
 public:
  /// How queues are made: a queue with room for `depth` completions whose events carry `context`, or null and
  /// errno.
  struct Maker {
    std::function<ibv_cq*(std::uint32_t depth, void* context)> make;
    std::function<void(ibv_cq*)> destroy;
  };
  class Seat;

  /// `largest`: completions that a queue of the device can have (ibv_device_attr::max_cqe).
  CompletionPool(Maker maker, std::uint32_t largest);
  ~CompletionPool();  ///< after the last queue pair
  CompletionPool(const CompletionPool&) = delete;
  CompletionPool& operator=(const CompletionPool&) = delete;

  /// Room for `depth` completions of one queue pair, which is then made on seat->queue().
  Result<std::shared_ptr<Seat>> reserve(EndpointNumber owner, std::uint32_t depth);
  /// The queue pair has been made, and nothing is posted on it yet.
  void enrol(const std::shared_ptr<Seat>& seat, std::uint32_t queue_pair);
  /// The queue pair is destroyed, or was never made. Any thread.
  void leave(std::shared_ptr<Seat> seat);

  /// The seat's own completions, in their order.
  int poll(Seat& seat, std::span<ibv_wc> completions);

  /// An event of the queue whose context this is: asks for the next one, and sorts what is there.
  void take_event(void* context);
  /// Somebody whose completions have come and wait; each is named once for them. None: nobody any more.
  EndpointNumber next_ready();
  /// All that have a queue pair on it: an error of a queue is everybody's.
  [[nodiscard]] std::vector<EndpointNumber> owners_on(const ibv_cq* queue) const;

 private:
  struct Queue;

  Queue* with_room(std::uint32_t depth);
  Queue* make(std::uint32_t depth);
  void reclaim();
  void sort(Queue& queue);
  void hand_over(Queue& queue, const ibv_wc& completion);

  const Maker maker_;
  const std::uint32_t largest_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::deque<std::shared_ptr<Seat>> ready_;
  std::mutex mutex_;                         // of what follows
  std::vector<std::shared_ptr<Seat>> left_;  // and whose room is not given to others yet
};

/// One queue pair's place in a queue.
class CompletionPool::Seat {
 public:
  Seat(EndpointNumber owner, std::uint32_t depth) : owner_(owner), depth_(depth) {}
  [[nodiscard]] ibv_cq* queue() const;

 private:
  friend class CompletionPool;
  const EndpointNumber owner_;
  const std::uint32_t depth_;
  Queue* queue_ = nullptr;
  std::uint32_t queue_pair_ = 0;
  bool is_named_ = false;  // in ready_
  std::vector<ibv_wc> waiting_;
  std::size_t taken_ = 0;  // of waiting_
};

}  // namespace rdmove::failover::conn
