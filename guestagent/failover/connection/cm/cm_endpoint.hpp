// Endpoint over an rdma_cm_id. Its number is the id's and the QP's context.
#pragma once

#include <rdma/rdma_cma.h>

#include "guestagent/failover/connection/cm/cm_device.hpp"
#include "guestagent/failover/connection/cm/context_registry.hpp"

namespace rdmove::failover::conn {

class CmEndpoint : public Endpoint {
 public:
  CmEndpoint(rdma_cm_id* id, ContextRegistry& contexts);  ///< owns the id from now on
  ~CmEndpoint() override;
  CmEndpoint(const CmEndpoint&) = delete;
  CmEndpoint& operator=(const CmEndpoint&) = delete;

  static EndpointNumber number_of(const rdma_cm_id* id);
  [[nodiscard]] ibv_context* context() const { return id_->verbs; }

  [[nodiscard]] EndpointNumber number() const override { return number_of(id_); }
  [[nodiscard]] DeviceNumber device() const override;
  [[nodiscard]] SocketAddress local() const override;
  [[nodiscard]] SocketAddress peer() const override;
  Result<void> bind(const SocketAddress& address) override;
  Result<void> listen(int backlog) override;
  Result<void> resolve_address(const std::optional<SocketAddress>& from, const SocketAddress& to,
                               Milliseconds limit) override;
  Result<void> resolve_route(Milliseconds limit) override;
  Result<void> connect(const CallWords& words) override;
  Result<void> accept(const CallWords& words) override;
  void reject(std::span<const std::byte> private_data) override;
  void disconnect() override;

  Result<void> make_queue(const std::shared_ptr<Device>& device, const QueueShape& shape) override;
  [[nodiscard]] ibv_qp* queue_pair() const override { return id_->qp; }
  Result<ibv_mr*> register_memory(void* address, std::size_t length, int access) override;
  void deregister(ibv_mr* region) override;
  Result<ibv_mr*> use_memory(const std::shared_ptr<MemoryPiece>& piece) override;
  void shorten_rnr_timer() override;
  int poll(std::span<ibv_wc> completions) override;
  Result<void> post_send(ibv_send_wr& first) override;
  Result<void> post_receive(ibv_recv_wr& first) override;

 private:
  void set_ack_timeout(std::uint8_t exponent);

  rdma_cm_id* id_;
  ContextRegistry& contexts_;
  std::shared_ptr<CmDevice> device_;
  std::shared_ptr<CompletionPool::Seat> seat_;
  std::vector<ibv_mr*> regions_;
  std::vector<std::shared_ptr<MemoryPiece>> pieces_;
};

}  // namespace rdmove::failover::conn
