// A session's link over a queue pair: work requests out of frames. It posts through WorkQueue, so that the
// same code runs over a Connection, which counts, and over a bare queue pair in the benchmark. Owned by the
// channel; the loop's thread.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <memory>
#include <string>

#include "guestagent/failover/channel/link.hpp"
#include "guestagent/failover/channel/session.hpp"

namespace rdmove::failover::channel {

/// Where work requests go. False: not posted, and the queue pair is of no use any more.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  virtual bool post_send(ibv_send_wr& request) = 0;
  virtual bool post_receive(ibv_recv_wr& request) = 0;
  virtual void restart(const std::string& why) = 0;
};

class VerbsLink final : public Link {
 public:
  explicit VerbsLink(WorkQueue& queue);
  VerbsLink(const VerbsLink&) = delete;  // its requests point into it
  VerbsLink& operator=(const VerbsLink&) = delete;

  /// The slab that frames are in; before the first opened().
  void use_slab(const Slab& slab, std::unique_ptr<Region> region);
  void add_region(RegionPlace place, std::unique_ptr<Region> region);
  void remove_region(RegionPlace place);
  /// There is a new queue pair: keys are other ones.
  void opened() { send_part_.lkey = receive_part_.lkey = slab_region_->local_key(); }

  /// A successful completion, to whom it belongs.
  static void completed(const ibv_wc& completion, Session& session);

  bool post_send(std::span<const std::byte> frame, Token token) override;
  bool post_receive(ReceiveSlot slot) override;
  bool post_write(const OneSidedWork& work, Token token) override;
  bool post_read(const OneSidedWork& work, Token token) override;
  [[nodiscard]] std::uint32_t remote_key(RegionPlace place) const override;
  void break_link(const std::string& why) override { queue_.restart(why); }

 private:
  bool post_one_sided(ibv_wr_opcode opcode, const OneSidedWork& work, Token token);

  WorkQueue& queue_;
  const Slab* slab_ = nullptr;
  std::unique_ptr<Region> slab_region_;
  std::array<std::unique_ptr<Region>, kRegions> regions_;
  // Made once: a request is 128 bytes, of which three words differ from message to message.
  ibv_sge send_part_{};
  ibv_send_wr send_{};
  ibv_sge receive_part_{};
  ibv_recv_wr receive_{};
};

}  // namespace rdmove::failover::channel
