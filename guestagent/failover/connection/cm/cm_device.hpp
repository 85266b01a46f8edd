// Device over an ibv_context that librdmacm has opened, and that only librdmacm closes. Other loops may have
// theirs over the same one.
#pragma once

#include <deque>

#include "guestagent/failover/connection/cm/async_router.hpp"
#include "guestagent/failover/connection/cm/chunk_registrations.hpp"
#include "guestagent/failover/connection/cm/completion_pool.hpp"
#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class CmDevice : public Device {
 public:
  static Result<std::shared_ptr<Device>> open(ibv_context* context, AsyncRouter& events);
  ~CmDevice() override;
  CmDevice(const CmDevice&) = delete;
  CmDevice& operator=(const CmDevice&) = delete;

  [[nodiscard]] int completion_fd() const override { return channel_->fd; }
  [[nodiscard]] int async_fd() const override { return events_->fd(); }
  [[nodiscard]] ibv_pd* protection_domain() const override { return domain_; }
  [[nodiscard]] CompletionPool& completions() { return *completions_; }
  [[nodiscard]] ChunkRegistrations& chunks() { return *chunks_; }
  std::optional<EndpointNumber> take_completion_event() override;
  std::optional<AsyncEvent> take_async_event() override;

 private:
  CmDevice() = default;
  ibv_comp_channel* channel_ = nullptr;
  ibv_pd* domain_ = nullptr;
  std::unique_ptr<CompletionPool> completions_;
  std::unique_ptr<ChunkRegistrations> chunks_;
  std::unique_ptr<AsyncRouter::Inbox> events_;
  unsigned events_taken_ = 0;          // in this round
  std::deque<EndpointNumber> failed_;  // by an error of their completion queue, and not told yet
};

}  // namespace rdmove::failover::conn
