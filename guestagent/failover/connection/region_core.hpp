// Memory of the owner's, or shared memory, that is registered anew on each device. Owned by the application,
// known to its connection.
#pragma once

#include <memory>

#include "guestagent/failover/connection/connection_core.hpp"

namespace rdmove::failover {

class RegionCore : public Region {
 public:
  RegionCore(std::weak_ptr<ConnectionCore> connection, void* address, std::size_t length, int access)
      : connection_(std::move(connection)), address_(address), length_(length), access_(access) {}
  /// Shared memory: the device has it registered already, or registers it with that of others.
  RegionCore(std::weak_ptr<ConnectionCore> connection, std::shared_ptr<conn::MemoryPiece> piece)
      : connection_(std::move(connection)),
        address_(piece->address()),
        length_(piece->bytes()),
        access_(IBV_ACCESS_LOCAL_WRITE),
        piece_(std::move(piece)) {}
  ~RegionCore() override {
    if (const auto connection = connection_.lock()) connection->forget(*this);
  }
  RegionCore(const RegionCore&) = delete;
  RegionCore& operator=(const RegionCore&) = delete;

  [[nodiscard]] void* address() const override { return address_; }
  [[nodiscard]] std::size_t length() const override { return length_; }
  [[nodiscard]] std::uint32_t local_key() const override { return registered_ ? registered_->lkey : 0; }
  [[nodiscard]] std::uint32_t remote_key() const override { return registered_ ? registered_->rkey : 0; }

  Result<void> register_on(conn::Endpoint& endpoint) {
    auto region = piece_ ? endpoint.use_memory(piece_) : endpoint.register_memory(address_, length_, access_);
    if (!region) return tl::unexpected(region.error());
    registered_ = *region;
    return {};
  }
  void deregister_on(conn::Endpoint& endpoint) {
    if (registered_) endpoint.deregister(std::exchange(registered_, nullptr));
  }
  void endpoint_gone() { registered_ = nullptr; }

 private:
  std::weak_ptr<ConnectionCore> connection_;
  void* address_;
  std::size_t length_;
  int access_;
  std::shared_ptr<conn::MemoryPiece> piece_;
  ibv_mr* registered_ = nullptr;
};

}  // namespace rdmove::failover
