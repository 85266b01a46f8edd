// RdmaPort over librdmacm and libibverbs. Nobody else in the library calls them.
#pragma once

#include <rdma/rdma_cma.h>

#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class CmPort : public RdmaPort {
 public:
  CmPort() = default;
  /// No endpoint may be left: destroying the channel ends their events.
  ~CmPort() override;
  CmPort(const CmPort&) = delete;
  CmPort& operator=(const CmPort&) = delete;

  Result<void> open() override;
  [[nodiscard]] int fd() const override { return channel_ ? channel_->fd : -1; }
  std::optional<CmEvent> take_event() override;
  Result<std::unique_ptr<Endpoint>> make_endpoint() override;
  Result<std::shared_ptr<Device>> open_device(const Endpoint& on_it) override;
  void let_go_of_devices() override { (void)look_at_devices(); }
  void let_go_of(DeviceNumber device) override;

 private:
  bool look_at_devices();
  rdma_event_channel* channel_ = nullptr;
};

}  // namespace rdmove::failover::conn
