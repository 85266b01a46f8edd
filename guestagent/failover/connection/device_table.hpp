// The devices that a loop's connections are on: opened with the first, with a canary for each local address,
// and given back in the order that lets the device leave. Owned by the hub; the loop's thread.
//
// A canary is an id bound to an address and to nothing else. RDMA CM tells of a device's removal only who has
// an id there, and a process that is not told holds it up (docs/reconnect-protocol.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "guestagent/failover/connection/poller.hpp"
#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class Hub;
class EndpointOwner;

class DeviceTable {
 public:
  DeviceTable(Hub& hub, Poller& poller);
  ~DeviceTable();

  /// The device that `endpoint` is bound to; opens it, and sets a canary on the endpoint's address.
  Result<std::shared_ptr<Device>> device_for(const Endpoint& endpoint);

  /// An endpoint is on its device until the reaper has done with it.
  void came(DeviceNumber device, EndpointNumber endpoint);
  void went(DeviceNumber device, EndpointNumber endpoint);

  /// DEVICE_REMOVAL came for somebody on it: tells the others, and closes it after the last.
  void removed(DeviceNumber device);

  /// Every completion channel and PD, once nobody is on them; the canaries stay. `done` comes when none is
  /// left.
  void release_all(std::function<void()> done);
  void stop_releasing();
  void end();  ///< the loop goes: all to the reaper
  [[nodiscard]] bool is_empty() const { return records_.empty(); }

 private:
  struct Record;
  class Canary;
  void set_canary(Record& record, DeviceNumber number, const SocketAddress& address);
  void take_completions(DeviceNumber number);
  void take_async_events(DeviceNumber number);
  Record& record_of(DeviceNumber number);
  void close_if_unused(DeviceNumber number);
  void forget_if_unused(DeviceNumber number);
  void closed(DeviceNumber number, bool was_unwatched);
  void check_released();

  Hub& hub_;
  Poller& poller_;
  std::map<DeviceNumber, std::unique_ptr<Record>> records_;
  std::size_t closing_ = 0;
  std::function<void()> released_;
};

}  // namespace rdmove::failover::conn
