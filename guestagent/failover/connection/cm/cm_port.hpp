// RdmaPort over librdmacm and libibverbs. Nobody else in the library calls them.
#pragma once

#include <rdma/rdma_cma.h>

#include <set>

#include "guestagent/failover/connection/cm/process_wide.hpp"
#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class CmPort : public RdmaPort {
 public:
  explicit CmPort(ProcessWide& process) : process_(process) {}
  /// No endpoint may be left: destroying the channel ends their events.
  ~CmPort() override;
  CmPort(const CmPort&) = delete;
  CmPort& operator=(const CmPort&) = delete;

  Result<void> open() override;
  [[nodiscard]] int fd() const override { return channel_ ? channel_->fd : -1; }
  std::optional<CmEvent> take_event() override;
  Result<std::unique_ptr<Endpoint>> make_endpoint() override;
  Result<std::shared_ptr<Device>> open_device(const Endpoint& on_it) override;
  void hold(DeviceNumber device) override;
  void release(DeviceNumber device) override;
  void let_go_of_devices() override { process_.contexts.look(); }
  void let_go_of(DeviceNumber device) override;

 private:
  bool drop(DeviceNumber device);

  ProcessWide& process_;
  std::multiset<DeviceNumber> held_;
  rdma_event_channel* channel_ = nullptr;
};

}  // namespace rdmove::failover::conn
