// One connection's objects on the device: id, PD, completion channel, CQ, MR and QP, with a ring of buffers
// for Messages. Owned by the client or by a session of the server. One thread.
#pragma once

#include <array>
#include <functional>

#include "beat_message.hpp"
#include "clock.hpp"
#include "cm_events.hpp"

namespace beat {

class Endpoint {
 public:
  /// Takes an id that is bound to a device (address resolved, or a connect request) and posts all receives.
  static Result<std::unique_ptr<Endpoint>> create(Id id);

  /// In the order that is known to end: QP to ERR, flushes drained, then QP, MR, CQ, channel, PD, id. No
  /// event of the id may be unacknowledged. Can block for up to 50 s when the device was unplugged with sends
  /// in flight.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  rdma_cm_id* id() const { return id_.get(); }
  int completion_fd() const { return completions_->fd; }
  Time last_success() const {
    return last_success_;
  }  ///< of a send or a receive; the epoch if there was none

  Result<void> send(const Message& message);

  /// Handles what has completed: calls `received` for each message. Fails when the connection is broken.
  Result<void> poll(const std::function<void(const Message&)>& received);

 private:
  static constexpr unsigned kSlots = 64;  ///< receives, and as many sends
  explicit Endpoint(Id id) : id_(std::move(id)) {}
  Result<void> allocate();
  Result<void> post_receive(std::uint64_t slot);
  void drain();

  Id id_;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* region_ = nullptr;
  bool has_qp_ = false;
  unsigned outstanding_ = 0;  ///< work requests without a completion
  std::uint64_t next_send_ = 0;
  Time last_success_{};
  std::array<Message, 2 * kSlots> buffers_{};
};

}  // namespace beat
