// A context's asynchronous events, for all loops that are on it. The kernel gives each to whoever reads
// first: that one reads for all. Any thread; one in a process (process_wide.hpp).
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class AsyncRouter {
 public:
  /// What is kept of an event that has been acknowledged. An endpoint is one loop's; a queue may be gone, or
  /// another's.
  struct Event {
    ibv_event_type type = IBV_EVENT_DEVICE_FATAL;
    EndpointNumber endpoint = EndpointNumber::none;  ///< of a queue pair's
    const ibv_cq* queue = nullptr;                   ///< of a completion queue's
    bool operator==(const Event&) const = default;
  };
  /// The next event of the context, acknowledged; never waits.
  using Take = std::function<std::optional<Event>(ibv_context*)>;
  class Inbox;

  explicit AsyncRouter(Take take) : take_(std::move(take)) {}

  /// From now on it gets all events of the context, which stays open for as long.
  Result<std::unique_ptr<Inbox>> subscribe(ibv_context* context);

 private:
  void read(ibv_context* context);

  const Take take_;
  std::mutex mutex_;
  std::vector<Inbox*> inboxes_;
};

class AsyncRouter::Inbox {
 public:
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Readable while there is an event: of the kernel's, or one that somebody else has read.
  [[nodiscard]] int fd() const { return both_; }
  std::optional<Event> take();

 private:
  friend class AsyncRouter;
  Inbox(AsyncRouter& router, ibv_context* context) : router_(router), context_(context) {}
  AsyncRouter& router_;
  ibv_context* const context_;
  int both_ = -1;
  int waiting_file_ = -1;
  std::deque<Event> waiting_;
};

}  // namespace rdmove::failover::conn
